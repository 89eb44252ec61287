"""Deliveries: failures, retries, and when they end."""

import threading
from datetime import datetime
from typing import Any

from contract_tests.conformance.world import (
    Hook,
    Hooks,
    Sandbox,
    always,
    new_recipient,
    statuses,
)
from contract_tests.harness import Received, Reply, free_port, wait_for

SUCCESSES = (200, 201, 202, 204, 206, 299)
FAILURES = (300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 429, 500, 502, 503)
PAUSES = (0.1, 0.2, 0.3)
JITTER = 0.1


def only_delivery(hook: Hook, state: str) -> Any:
    """The webhook's only delivery with its attempts, once it is in this state."""
    [delivery] = hook.wait_states(state, 1)
    return hook.delivery(delivery["id"])


def moment(timestamp: str) -> float:
    """A timestamp in seconds."""
    return datetime.fromisoformat(timestamp).timestamp()


def test_any_2xx_answer_is_a_success(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The receiver must answer with a 2xx status."""
    answering = {status: hooks("message.received", reply=always(status)) for status in SUCCESSES}
    sandbox.write(number["phoneNumber"], new_recipient())
    for status, hook in answering.items():
        delivery = only_delivery(hook, "delivered")
        assert delivery["attemptCount"] == 1, status
        assert delivery["nextAttemptAt"] is None
        [attempt] = delivery["attempts"]
        assert (attempt["number"], attempt["success"]) == (1, True)
        assert (attempt["statusCode"], attempt["error"]) == (status, None)


def test_any_other_response_is_a_failure_and_retried(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'A non-2xx answer or a timeout counts as a failure'; 'after a failure the service retries'."""
    answering = {s: hooks("message.received", reply=statuses(s)) for s in FAILURES}
    sandbox.write(number["phoneNumber"], new_recipient())
    for status, hook in answering.items():
        failed, succeeded = only_delivery(hook, "delivered")["attempts"]
        assert (failed["number"], failed["success"]) == (1, False)
        assert failed["statusCode"] == status
        assert str(status) in failed["error"]
        assert (succeeded["number"], succeeded["success"]) == (2, True)


def test_a_redirect_is_a_failure_and_not_followed(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The same: events go to the url and nowhere else."""
    elsewhere = hooks("number.banned")
    target = {"Location": hooks.receiver.url(elsewhere.path)}
    moved = [hooks("message.received", reply=always(s, target)) for s in (301, 302, 303, 307, 308)]
    sandbox.write(number["phoneNumber"], new_recipient())
    for hook in moved:
        delivery = only_delivery(hook, "failed")
        assert {a["success"] for a in delivery["attempts"]} == {False}
    assert elsewhere.requests == []


def test_no_response_is_a_failure(sandbox: Sandbox, hooks: Hooks, number: dict[str, str]) -> None:
    """The same: nothing listens at the url."""
    hook = hooks("message.received")
    nobody = f"http://127.0.0.1:{free_port()}/"
    hooks.api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"url": nobody})
    sandbox.write(number["phoneNumber"], new_recipient())
    delivery = only_delivery(hook, "failed")
    for attempt in delivery["attempts"]:
        assert attempt["statusCode"] is None
        assert attempt["error"]
        assert attempt["responseBody"] is None


def test_after_three_failed_retries_the_event_is_discarded(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'After 3 failed retries the event is discarded'; 'Webhook retries: 3 per event'."""
    hook = hooks("message.received", reply=always(500))
    sandbox.write(number["phoneNumber"], new_recipient())
    delivery = only_delivery(hook, "failed")
    assert delivery["attemptCount"] == 4
    assert [a["number"] for a in delivery["attempts"]] == [1, 2, 3, 4]
    assert delivery["nextAttemptAt"] is None
    assert delivery["completedAt"] is not None
    # A later event takes all its attempts, and the discarded one is not sent again.
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait_states("failed", 2)
    assert len(hook.requests) == 8


def test_the_last_retry_can_succeed(sandbox: Sandbox, hooks: Hooks, number: dict[str, str]) -> None:
    """The same: three failures, then a success."""
    hook = hooks("message.received", reply=statuses(500, 503, 404))
    sandbox.write(number["phoneNumber"], new_recipient())
    attempts = only_delivery(hook, "delivered")["attempts"]
    assert [a["success"] for a in attempts] == [False, False, False, True]


def test_the_pauses_between_attempts_grow(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'Retries with exponential backoff': no retry comes before its pause is over."""
    hook = hooks("message.received", reply=always(500))
    sandbox.write(number["phoneNumber"], new_recipient())
    attempts = only_delivery(hook, "failed")["attempts"]
    started = [moment(a["startedAt"]) for a in attempts]
    for before, after, pause in zip(started, started[1:], PAUSES, strict=False):
        # Two timestamps in whole milliseconds may differ by one.
        assert after - before >= pause * (1 - JITTER) - 0.002


def test_the_same_event_arrives_with_the_same_body(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """Receivers deduplicate on the pair of event kind and data.id."""
    hook = hooks("message.received", reply=statuses(500, 500))
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait(3)
    assert len({r.body for r in hook.requests}) == 1


def test_different_events_differ_in_kind_or_identifier(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The same: deduplication loses no event."""
    hook = hooks("message.received")
    person = new_recipient()
    for _ in range(5):
        sandbox.write(number["phoneNumber"], person, text="The same again")
    events = hook.wait(5)
    assert len({(e["event"], e["data"]["id"]) for e in events}) == 5


def test_a_failing_receiver_delays_no_other(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """Deliveries of one event are independent of each other."""
    released = threading.Event()

    def hang(_: Received) -> Reply:
        released.wait(5)
        return Reply(200)

    hanging, healthy = hooks("message.received", reply=hang), hooks("message.received")
    try:
        for _ in range(15):
            sandbox.write(number["phoneNumber"], new_recipient())
        healthy.wait(15)
        assert hanging.deliveries(status="delivered") == []
    finally:
        released.set()
    hanging.wait_states("delivered", 15)


def test_the_response_of_a_receiver_is_stored(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """GET /deliveries/{id} shows the payload and every attempt."""
    hook = hooks("message.received", reply=statuses(500))
    sandbox.write(number["phoneNumber"], new_recipient())
    delivery = only_delivery(hook, "delivered")
    assert delivery["webhookId"] == hook.id
    assert delivery["event"] == "message.received"
    assert delivery["payload"] == hook.wait()[0]
    assert [a["responseBody"] for a in delivery["attempts"]] == ["ok", "ok"]
    wait_for(lambda: hook.deliveries()[0]["completedAt"], "the end of the delivery")

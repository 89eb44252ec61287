"""Errors and messages with a network that refuses, throttles, fails and is silent.

The sandbox's recipients with a fixed result cause each outcome of a send (docs/testing.md).
"""

import pytest

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.timelapse import DAY, Timelapse
from contract_tests.conformance.world import (
    Hooks,
    Sandbox,
    new_recipient,
    send,
    steps,
    wait_status,
)
from contract_tests.harness import wait_for

REFUSED = "15550100001"
FAILED_LATER = "15550100002"
THROTTLED = "15550100003"
SERVER_ERROR = "15550100004"
CONNECTION_CLOSED = "15550100005"
NO_STATUS = "15550100006"
NEVER_READ = "15550100007"
MESSAGE_KINDS = ("message.sent", "message.delivered", "message.read", "message.failed")


def newest_to(api: Api, to: str) -> str:
    """The identifier of the latest message to a recipient."""
    found = api.get("/messages", params={"limit": "20"})["data"]
    return str(next(m["id"] for m in found if m["toNumber"] == to))


def wait_until_quiet(api: Api, sandbox: Sandbox, hooks: Hooks, number_id: str) -> None:
    """Wait until all callbacks of the network have arrived, including those of a later message."""
    wait_for(sandbox.has_told_all, "a network without pending callbacks")
    last = hooks("message.read")
    sent = send(api, number_id, new_recipient()).json()
    last.wait_about(sent["id"])


def test_a_refused_message_is_a_validation_error(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'400 VALIDATION_ERROR', with the network's reason; no event, because nothing was accepted."""
    hook = hooks(*MESSAGE_KINDS)
    before = len(sandbox.accepted(REFUSED))
    told = send(api, number["id"], REFUSED, 400).json()["error"]["message"]
    assert "131026" in told
    message = api.get(f"/messages/{newest_to(api, REFUSED)}")
    assert message["status"] == "failed"
    assert message["error"]["code"] == "131026"
    assert message["waMessageId"] is None
    assert steps(message) == {"pending", "failed"}
    wait_until_quiet(api, sandbox, hooks, number["id"])
    assert message["id"] not in {r.event["data"]["id"] for r in hook.requests}
    assert len(sandbox.accepted(REFUSED)) == before


def test_a_message_that_fails_later_is_sent_first(
    api: Api, hooks: Hooks, number: dict[str, str]
) -> None:
    """message.failed: A message delivery fails."""
    hook = hooks(*MESSAGE_KINDS)
    sent = send(api, number["id"], FAILED_LATER).json()
    assert sent["status"] == "sent"
    events = hook.wait_about(sent["id"], 2)
    assert {e["event"] for e in events} == {"message.sent", "message.failed"}
    failed = next(e["data"] for e in events if e["event"] == "message.failed")
    assert failed["status"] == "failed"
    assert failed["error"]["code"] == "131049"
    assert failed["error"]["message"]
    message = wait_status(api, sent["id"], "failed")
    assert message["error"] == failed["error"]


def test_a_throttled_message_is_rate_limited_with_retry_after(
    api: Api, number: dict[str, str]
) -> None:
    """429 RATE_LIMITED: Too many requests; a Retry-After header is included."""
    refused = send(api, number["id"], THROTTLED, 429)
    assert int(refused.headers["Retry-After"]) >= 1
    message = api.get(f"/messages/{newest_to(api, THROTTLED)}")
    assert message["status"] == "failed"
    assert message["error"]["code"] == "130429"


@pytest.mark.parametrize("to", [SERVER_ERROR, CONNECTION_CLOSED])
def test_an_unclear_response_is_a_server_error_settled_by_a_later_status(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str], to: str
) -> None:
    """'500 INTERNAL_ERROR: Server error'. The message is not sent again, and its status arrives."""
    hook = hooks(*MESSAGE_KINDS)
    before = len(sandbox.accepted(to))
    told = send(api, number["id"], to, 500).json()["error"]["message"]
    message_id = newest_to(api, to)
    assert message_id in told
    message = wait_status(api, message_id, "read")
    assert steps(message) >= {"pending", "sent", "delivered", "read"}
    assert message["waMessageId"] == sandbox.accepted(to)[-1]["id"]
    kinds = {e["event"] for e in hook.wait_about(message_id, 3)}
    assert kinds == {"message.sent", "message.delivered", "message.read"}
    assert len(sandbox.accepted(to)) == before + 1


def test_an_unclear_response_leaves_the_message_unknown_until_its_status_comes(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """The same, before the status: neither sent nor failed."""
    with sandbox.behaving(status_delay_ms=1500):
        send(api, number["id"], SERVER_ERROR, 500)
    message = api.get(f"/messages/{newest_to(api, SERVER_ERROR)}")
    assert message["status"] == "unknown"
    assert message["error"] is None
    wait_status(api, message["id"], "sent")


def test_an_unknown_message_without_any_status_fails_after_24_hours(
    api: Api, sandbox: Sandbox, hooks: Hooks, timelapse: Timelapse, number: dict[str, str]
) -> None:
    """No message stays unknown: 'message.failed: A message delivery fails'."""
    hook = hooks("message.failed")
    to = new_recipient()
    with sandbox.behaving(error_rate=1):
        send(api, number["id"], to, 500)
    message_id = newest_to(api, to)
    assert api.get(f"/messages/{message_id}")["status"] == "unknown"
    assert sandbox.accepted(to) == []
    timelapse.age_message(message_id, DAY)
    [event] = hook.wait_about(message_id)
    assert event["data"]["error"]["message"]
    assert wait_status(api, message_id, "failed")["error"] == event["data"]["error"]


def test_a_message_without_any_status_stays_sent(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'message.sent: A message is accepted by the messaging platform's servers', and no more."""
    hook = hooks(*MESSAGE_KINDS)
    sent = send(api, number["id"], NO_STATUS).json()
    hook.wait_about(sent["id"])
    wait_until_quiet(api, sandbox, hooks, number["id"])
    assert [e["event"] for e in hook.wait_about(sent["id"])] == ["message.sent"]
    assert steps(api.get(f"/messages/{sent['id']}")) == {"pending", "sent"}


def test_a_message_that_nobody_reads_stays_delivered(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'message.delivered: A message is delivered to the recipient's device', and no more."""
    hook = hooks(*MESSAGE_KINDS)
    sent = send(api, number["id"], NEVER_READ).json()
    hook.wait_about(sent["id"], 2)
    wait_until_quiet(api, sandbox, hooks, number["id"])
    events = hook.wait_about(sent["id"], 2)
    assert {e["event"] for e in events} == {"message.sent", "message.delivered"}
    assert len(events) == 2
    assert api.get(f"/messages/{sent['id']}")["status"] == "delivered"


def test_every_other_message_is_sent_delivered_and_read(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The three events of a successful message, once each."""
    hook = hooks(*MESSAGE_KINDS)
    sent = send(api, number["id"], new_recipient()).json()
    hook.wait_about(sent["id"], 3)
    wait_until_quiet(api, sandbox, hooks, number["id"])
    events = hook.wait_about(sent["id"], 3)
    kinds = sorted(e["event"] for e in events)
    assert kinds == ["message.delivered", "message.read", "message.sent"]


def test_duplicate_or_reordered_statuses_have_one_event_each(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The same with duplicate and reordered callbacks. A message's status never moves backwards."""
    hook = hooks(*MESSAGE_KINDS)
    with sandbox.behaving(duplicate_rate=1, reorder=True):
        sent = [send(api, number["id"], new_recipient()).json()["id"] for _ in range(3)]
        for message_id in sent:
            hook.wait_about(message_id, 3)
        wait_until_quiet(api, sandbox, hooks, number["id"])
    for message_id in sent:
        kinds = sorted(e["event"] for e in hook.wait_about(message_id, 3))
        assert kinds == ["message.delivered", "message.read", "message.sent"]
        assert api.get(f"/messages/{message_id}")["status"] == "read"

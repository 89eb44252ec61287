"""Ten consecutive failures deactivate a webhook. Its owner can activate it again."""

from collections.abc import Callable

import pytest

from contract_tests.conformance.world import Hook, Hooks, Sandbox, always, new_recipient
from contract_tests.harness import Received, Reply, wait_for

pytestmark = pytest.mark.usefixtures("proven")

TEN = 10
Write = Callable[[int], None]


class Switch:
    """A receiver whose status the test can change."""

    def __init__(self, status: int) -> None:
        self.status = status

    def __call__(self, _: Received) -> Reply:
        return Reply(self.status)


@pytest.fixture
def write(sandbox: Sandbox, number: dict[str, str]) -> Write:
    """Send ``count`` messages from people to the number."""

    def write_many(count: int) -> None:
        for _ in range(count):
            sandbox.write(number["phoneNumber"], new_recipient())

    return write_many


def wait_inactive(hook: Hook) -> None:
    """Wait until the webhook is deactivated."""
    wait_for(lambda: hook.read()["active"] is False, "an inactive webhook")


def activate(hook: Hook, *, active: bool = True) -> None:
    """Enable or disable the webhook."""
    hook.api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"active": active})


def redeliver(hook: Hook, **which: object) -> int:
    """Redeliver deliveries of the webhook. Returns how many."""
    count: int = hook.api.post(f"/webhooks/{hook.id}/redeliver", json=which)["count"]
    return count


def test_ten_discarded_events_in_a_row_deactivate_the_webhook(hooks: Hooks, write: Write) -> None:
    """'After 10 consecutive failures the webhook is deactivated automatically', each after retries."""
    hook = hooks("message.received", reply=always(500))
    write(TEN - 1)
    hook.wait_states("failed", TEN - 1)
    assert hook.read()["active"] is True
    write(1)
    wait_inactive(hook)
    assert len(hook.deliveries(status="failed")) == TEN
    # Each failure is a delivery with all its retries.
    assert len(hook.requests) == TEN * 4


def test_a_2xx_response_resets_the_failure_count(hooks: Hooks, write: Write) -> None:
    """'10 consecutive': nine, a success, nine more, and only then the tenth in a row."""
    switch = Switch(500)
    hook = hooks("message.received", reply=switch)
    write(TEN - 1)
    hook.wait_states("failed", TEN - 1)
    switch.status = 204
    write(1)
    hook.wait_states("delivered", 1)
    switch.status = 500
    write(TEN - 1)
    hook.wait_states("failed", 2 * (TEN - 1))
    assert hook.read()["active"] is True
    write(1)
    wait_inactive(hook)


def test_an_inactive_webhook_gets_nothing_until_it_is_activated_and_redelivered(
    hooks: Hooks, write: Write
) -> None:
    """'No further deliveries to it'. Missed events are stored and can be redelivered."""
    switch = Switch(500)
    hook, control = hooks("message.received", reply=switch), hooks("message.received")
    write(TEN)
    wait_inactive(hook)
    asked = len(hook.requests)
    switch.status = 200
    write(3)
    control.wait(TEN + 3)
    skipped = hook.deliveries(status="skipped")
    assert len(skipped) == 3
    assert {d["attemptCount"] for d in skipped} == {0}
    hook.api.call("POST", f"/webhooks/{hook.id}/redeliver", 409, json={})
    hook.api.call("POST", f"/deliveries/{skipped[0]['id']}/redeliver", 409)
    activate(hook)
    assert hook.read()["active"] is True
    # Activation redelivers nothing. New events are delivered again.
    write(1)
    hook.wait_states("delivered", 1)
    assert len(hook.requests) == asked + 1
    assert len(hook.deliveries(status="skipped")) == 3
    # By default failed and skipped deliveries.
    assert redeliver(hook) == TEN + 3
    hook.wait_states("delivered", TEN + 4)
    control.wait(TEN + 4)
    got = {r.event["data"]["id"] for r in hook.requests[asked:]}
    assert got == {r.event["data"]["id"] for r in control.requests}


def test_activation_resets_the_failure_count(hooks: Hooks, write: Write) -> None:
    """Only ten new failures in a row deactivate it again."""
    hook = hooks("message.received", reply=always(500))
    write(TEN)
    wait_inactive(hook)
    activate(hook)
    write(TEN - 1)
    hook.wait_states("failed", 2 * TEN - 1)
    assert hook.read()["active"] is True


def test_other_webhooks_of_the_account_stay_active(hooks: Hooks, write: Write) -> None:
    """'The webhook is deactivated', and no other webhook."""
    failing, healthy = hooks("message.received", reply=always(500)), hooks("message.received")
    write(TEN)
    wait_inactive(failing)
    assert healthy.read()["active"] is True
    write(1)
    healthy.wait(TEN + 1)


def test_deactivation_skips_pending_deliveries(hooks: Hooks, write: Write) -> None:
    """'No further deliveries to it': deliveries that wait for a retry are skipped."""
    hook = hooks("message.received", reply=always(500))
    write(2 * TEN)
    wait_inactive(hook)
    wait_for(lambda: hook.deliveries(status="pending") == [], "an end of the waiting deliveries")
    states = {d["state"] for d in hook.deliveries()}
    assert states <= {"failed", "skipped"}
    asked = len(hook.requests)
    control = hooks("message.received")
    write(1)
    control.wait()
    assert len(hook.requests) == asked


def test_disabling_a_webhook_stops_its_deliveries(hooks: Hooks, write: Write) -> None:
    """'active: Whether the webhook receives deliveries', as its owner sets it."""
    hook, control = hooks("message.received"), hooks("message.received")
    activate(hook, active=False)
    write(2)
    control.wait(2)
    assert [d["state"] for d in hook.deliveries()] == ["skipped", "skipped"]
    assert hook.requests == []
    activate(hook)
    assert redeliver(hook, statuses=["failed"]) == 0
    assert redeliver(hook, statuses=["skipped"]) == 2
    hook.wait(2)


def test_a_single_delivery_can_be_redelivered(hooks: Hooks, write: Write) -> None:
    """With the same body and a new retry schedule."""
    switch = Switch(500)
    hook = hooks("message.received", reply=switch)
    write(1)
    [failed] = hook.wait_states("failed", 1)
    switch.status = 200
    waiting = hook.api.post(f"/deliveries/{failed['id']}/redeliver")
    assert waiting["id"] == failed["id"]
    assert waiting["completedAt"] is None
    [delivered] = hook.wait_states("delivered", 1)
    assert delivered["attemptCount"] == 5
    assert len({r.body for r in hook.requests}) == 1


def test_only_deliveries_of_the_given_period_are_redelivered(hooks: Hooks, write: Write) -> None:
    """The parameters since and until of the bulk redelivery, and of the list."""
    hook = hooks("message.received")
    write(1)
    hook.wait_states("delivered", 1)
    write(1)
    newer, older = hook.wait_states("delivered", 2)
    border = newer["createdAt"]
    assert [d["id"] for d in hook.deliveries(since=border)] == [newer["id"]]
    assert [d["id"] for d in hook.deliveries(until=border)] == [older["id"]]
    assert hook.deliveries(event="message.read") == []
    assert redeliver(hook, includeDelivered=True, since=border, until=border) == 0
    assert redeliver(hook, statuses=["delivered"], until=border) == 0
    assert redeliver(hook, includeDelivered=True, until=border) == 1
    hook.wait(3)
    assert hook.requests[2].event == hook.requests[0].event
    hook.api.post(f"/webhooks/{hook.id}/redeliver", 400, json={"since": "yesterday"})

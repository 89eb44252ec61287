"""Callbacks with several updates."""

import json
from collections import Counter

from sandbox_harness import Business, Callback, Receiver, Sandbox, until
from test_clock import HOUR, advance


def ids_by_number(callback: Callback) -> dict[str, set[str]]:
    """The messages of the statuses in a callback, by the number of each change."""
    values = [change["value"] for _, change in callback.changes]
    return {
        value["metadata"]["phone_number_id"]: {status["id"] for status in value["statuses"]}
        for value in values
    }


def send_from_both(sandbox: Sandbox, *, batch_size: int) -> dict[str, set[str]]:
    """Send from two numbers of one account. Their first statuses become due at the same time."""
    one = sandbox.connect()
    both = [one, sandbox.connect(waba_id=one.waba_id)]
    knobs = {"batch_size": batch_size, "status_delay_ms": HOUR * 1000}
    sandbox.control("PUT", "behaviour", knobs)
    sent = {each.number_id: {each.send() for _ in range(3)} for each in both}
    advance(sandbox, HOUR + 60)
    return sent


def test_statuses_of_one_account_share_a_callback(sandbox: Sandbox, receiver: Receiver) -> None:
    sent = send_from_both(sandbox, batch_size=1000)
    receiver.wait(lambda: bool(receiver.callbacks))
    (callback,) = receiver.callbacks
    assert len(json.loads(callback.raw)["entry"]) == 1
    assert ids_by_number(callback) == sent


def test_a_callback_has_at_most_the_given_number_of_updates(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    send_from_both(sandbox, batch_size=4)
    receiver.wait(lambda: len(receiver.items("statuses")) == 6)
    assert sorted(len(each.items("statuses")) for each in receiver.callbacks) == [2, 4]


def test_a_status_does_not_wait_for_a_full_callback(business: Business, receiver: Receiver) -> None:
    business.sandbox.control("PUT", "behaviour", {"batch_size": 1000})
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")


def test_updates_wait_longer_for_a_full_callback_by_a_knob(
    business: Business, receiver: Receiver
) -> None:
    knobs = {"batch_size": 3, "batch_wait_ms": HOUR * 1000, "status_delay_ms": 100}
    business.sandbox.control("PUT", "behaviour", knobs)
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    assert len(receiver.callbacks) == 1


def test_batches_hold_updates_of_several_numbers(sandbox: Sandbox, receiver: Receiver) -> None:
    one, two = sandbox.connect(), sandbox.connect()
    sandbox.control("PUT", "behaviour", {"batch_size": 6, "status_delay_ms": 200})
    sent: list[str] = []

    def held_both() -> bool:
        # On a slow machine, one number's updates may be sent before the other's are due.
        sent.extend([one.send(), two.send()])
        receiver.wait(lambda: len(receiver.items("statuses")) == 3 * len(sent))
        return any(
            {entry["id"] for entry in json.loads(callback.raw)["entry"]}
            == {one.waba_id, two.waba_id}
            for callback in receiver.callbacks
        )

    until(held_both, "a callback with updates of both numbers")
    assert len(receiver.callbacks) < 3 * len(sent)
    assert Counter(item["id"] for item in receiver.items("statuses")) == dict.fromkeys(sent, 3)

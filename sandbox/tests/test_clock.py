"""The network's clock: it can be advanced, wakes everything that waits, and survives a kill."""

from datetime import datetime
from typing import Any

import pytest

from sandbox_harness import Business, Receiver, Sandbox, until
from test_callbacks import settle, write

HOUR, DAY = 3600, 24 * 3600


def advance(sandbox: Sandbox, seconds: float) -> dict[str, Any]:
    clock: dict[str, Any] = sandbox.control("POST", "clock", {"advance_seconds": seconds})
    return clock


def test_the_clock_is_the_machines_until_it_is_advanced(sandbox: Sandbox) -> None:
    before = sandbox.control("GET", "clock")
    assert before["ahead_seconds"] == 0
    after = advance(sandbox, DAY)
    assert after["ahead_seconds"] == DAY
    assert DAY <= after["unix_seconds"] - before["unix_seconds"] < DAY + HOUR
    shown = datetime.fromisoformat(after["now"]).timestamp()
    assert shown == pytest.approx(after["unix_seconds"], abs=0.001)


def test_it_stays_ahead_after_a_kill_and_after_compaction(sandbox: Sandbox) -> None:
    advance(sandbox, DAY)
    advance(sandbox, HOUR)
    sandbox.kill()
    sandbox.start()
    assert sandbox.control("GET", "clock")["ahead_seconds"] == DAY + HOUR
    for _ in range(5):
        advance(sandbox, 1)
    sandbox.extra["SANDBOX_COMPACT_BYTES"] = "1"
    # The first start compacts, the second reads what is left.
    for _ in range(2):
        sandbox.kill()
        sandbox.start()
    assert sandbox.control("GET", "clock")["ahead_seconds"] == DAY + HOUR + 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"advance_seconds": -1},
        {"advance_seconds": "60"},
        {"advance_seconds": True},
        {"advance_seconds": None},
        {"advance_seconds": 400 * DAY},
        {"advance_seconds": 1, "x": 1},
        [],
    ],
)
def test_a_bad_advance_changes_nothing(shared: Business, body: object) -> None:
    response = shared.sandbox.call("POST", "/_sandbox/clock", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    assert shared.sandbox.control("GET", "clock")["ahead_seconds"] == 0


def test_statuses_that_become_due_come_at_once_with_their_own_times(
    business: Business, receiver: Receiver
) -> None:
    business.sandbox.control("PUT", "behaviour", {"status_delay_ms": HOUR * 1000})
    wamid = business.send()
    advance(business.sandbox, HOUR + 1)
    receiver.wait_for_statuses(wamid, "sent")
    assert receiver.statuses_of(wamid) == ["sent"]
    advance(business.sandbox, 2 * HOUR)
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    times = {each["status"]: int(each["timestamp"]) for each in receiver.items("statuses")}
    assert times["delivered"] - times["sent"] == pytest.approx(HOUR, abs=1)
    assert times["read"] - times["delivered"] == pytest.approx(HOUR, abs=1)


def test_what_was_due_while_nothing_ran_comes_after_the_start(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    sandbox.control("PUT", "behaviour", {"status_delay_ms": HOUR * 1000})
    wamid = business.send()
    sandbox.kill()
    sandbox.start()
    advance(sandbox, 4 * HOUR)
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    settle(sandbox)


def test_inbound_messages_bear_the_network_s_time(business: Business, receiver: Receiver) -> None:
    now = advance(business.sandbox, DAY)["unix_seconds"]
    write(business, text="Hi")
    receiver.wait(lambda: bool(receiver.items("messages")))
    assert int(receiver.items("messages")[0]["timestamp"]) >= int(now)


def test_a_signup_code_is_void_30_seconds_later(sandbox: Sandbox) -> None:
    codes = [sandbox.control("POST", "signup")["code"] for _ in range(2)]
    advance(sandbox, 25)
    assert sandbox.exchange(codes[0]).ok
    advance(sandbox, 6)
    response = sandbox.exchange(codes[1])
    assert (response.status_code, response.json()["error"]["error_subcode"]) == (400, 36007)


def test_a_callback_that_fails_for_7_days_is_given_up_for_good(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    sandbox.extra["SANDBOX_RETRY_CAP"] = "3600"
    sandbox.kill()
    sandbox.start()
    business = sandbox.connect()
    receiver.answer = lambda _: 503
    write(business, text="Hi")
    # The delays double from 0.2 s, so the first ones pass by themselves.
    receiver.wait(lambda: len(receiver.callbacks) >= 2)

    def retry_after(seconds: float) -> None:
        before = len(receiver.callbacks)
        waiting = "a callback that waits to be retried"
        until(lambda: counters(sandbox)["waiting_to_retry"] == 1, waiting)
        advance(sandbox, seconds)
        receiver.wait(lambda: len(receiver.callbacks) > before)

    retry_after(6 * DAY)
    assert counters(sandbox)["given_up"] == 0
    retry_after(DAY + 1)
    settle(sandbox)
    assert counters(sandbox)["given_up"] == 1
    assert counters(sandbox)["delivered"] == 0
    (record,) = sandbox.control("GET", "callbacks")["data"]
    assert record["state"] == "given_up"
    # It does not come back with a restart either.
    receiver.callbacks.clear()
    sandbox.kill()
    sandbox.start()
    receiver.answer = lambda _: 200
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    assert receiver.items("messages") == []


def counters(sandbox: Sandbox) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.control("GET", "state")["callbacks"]
    return found

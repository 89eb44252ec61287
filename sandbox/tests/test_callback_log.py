"""The log of callbacks and their attempts, and its counters."""

import time

import pytest

from sandbox_harness import Business, Receiver, Sandbox, until
from test_callbacks import settle, write
from test_clock import counters


def test_every_attempt_is_on_record(business: Business, receiver: Receiver) -> None:
    answers = iter([500, None])
    receiver.answer = lambda _: next(answers, 200)
    wamid = write(business, text="Hi")
    receiver.wait(lambda: len(receiver.callbacks) == 3)
    settle(business.sandbox)
    (record,) = business.sandbox.control("GET", "callbacks")["data"]
    assert record["updates"] == [wamid]
    assert (record["state"], record["attempt_count"]) == ("delivered", 3)
    assert (record["url"], record["bytes"]) == (receiver.url, len(receiver.callbacks[0].raw))
    shown = [(each["status"], each["error"]) for each in record["attempts"]]
    assert shown == [(500, None), (None, "no response in time"), (200, None)]
    times = [each["at"] for each in record["attempts"]]
    assert times == sorted(times)
    assert record["attempts"][1]["took_ms"] >= 1000


def test_an_unreachable_receiver_is_recorded(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    receiver.close()
    # The receiver continues to respond on kept-alive connections.
    sandbox.kill()
    sandbox.start()
    write(business, text="Hi")

    def attempts() -> list[dict[str, object]]:
        (record,) = sandbox.control("GET", "callbacks")["data"]
        assert record["state"] == "waiting"
        found: list[dict[str, object]] = record["attempts"]
        return found

    until(lambda: len(attempts()) >= 3, "three attempts")
    assert {each["error"] for each in attempts()} == {"ClientConnectorError"}
    assert {each["status"] for each in attempts()} == {None}


def test_a_callback_is_sent_again_as_it_was(business: Business, receiver: Receiver) -> None:
    write(business, text="Hi")
    settle(business.sandbox)
    (record,) = business.sandbox.control("GET", "callbacks")["data"]
    again = business.sandbox.control("POST", f"callbacks/{record['id']}/replay")
    assert (again["state"], again["updates"]) == ("delivered", record["updates"])
    assert again["id"] != record["id"]
    assert [each.raw for each in receiver.callbacks] == [receiver.callbacks[0].raw] * 2


def test_a_callback_is_sent_again_with_another_age(business: Business, receiver: Receiver) -> None:
    write(business, text="Hi")
    settle(business.sandbox)
    (record,) = business.sandbox.control("GET", "callbacks")["data"]
    business.sandbox.control("POST", f"callbacks/{record['id']}/replay", {"age_seconds": 864_000})
    first, old = receiver.items("messages")
    assert int(first["timestamp"]) - 864_000 <= int(old["timestamp"]) <= time.time() - 864_000
    assert old | {"timestamp": ""} == first | {"timestamp": ""}


def test_what_cannot_be_sent_again_is_refused(business: Business) -> None:
    write(business, text="x" * 20_000)
    settle(business.sandbox)
    (record,) = business.sandbox.control("GET", "callbacks")["data"]
    path = f"/_sandbox/callbacks/{record['id']}/replay"
    assert business.sandbox.call("POST", path).status_code == 404
    write(business, text="Hi")
    settle(business.sandbox)
    last = business.sandbox.control("GET", "callbacks")["data"][-1]
    path = f"/_sandbox/callbacks/{last['id']}/replay"
    for odd in ({"age_seconds": -1}, {"age_seconds": True}, {"age": 1}):
        assert business.sandbox.call("POST", path, json=odd).status_code == 400


def test_the_record_shows_the_last_ones(business: Business) -> None:
    sent = [write(business, text=f"{index}") for index in range(5)]
    settle(business.sandbox)
    data = business.sandbox.control("GET", "callbacks?limit=2")["data"]
    assert [each["updates"] for each in data] == [[wamid] for wamid in sent[-2:]]


@pytest.mark.parametrize("limit", ["0", "1001", "x", "-1", ""])
def test_a_bad_limit_is_refused(shared: Business, limit: str) -> None:
    assert shared.sandbox.call("GET", f"/_sandbox/callbacks?limit={limit}").status_code == 400


def test_the_counters_of_a_load_add_up(sandbox: Sandbox, business: Business) -> None:
    assert counters(sandbox)["median_latency_ms"] is None
    for to in ("16505551234", "15550100001", "15550100007"):
        business.post(to=to)
    settle(sandbox)
    state = sandbox.control("GET", "state")
    assert state["sends"] == {"asked": 3, "accepted": 2}
    assert state["callbacks"]["delivered"] == 5
    assert 0 < state["callbacks"]["median_latency_ms"] < 1000

"""Callbacks as they arrive: shapes, signature, retries, duplicates."""

import json
import threading

from sandbox_harness import Business, Callback, Receiver, Sandbox


def write(business: Business, **inbound: object) -> str:
    body = {"to": business.digits, "from": "16505551234", **inbound}
    wamid: str = business.sandbox.control("POST", "inbound", body)["id"]
    return wamid


def test_an_inbound_text_has_the_platform_s_shape(business: Business, receiver: Receiver) -> None:
    wamid = write(business, text="Hi", profile_name="Ana")
    receiver.wait(lambda: bool(receiver.items("messages")))
    (callback,) = receiver.callbacks
    body = json.loads(callback.raw)
    value = body["entry"][0]["changes"][0]["value"]
    item = value["messages"][0]
    assert body["object"] == "whatsapp_business_account"
    assert body["entry"][0]["id"] == business.waba_id
    assert "time" not in body["entry"][0]
    assert set(value) == {"messaging_product", "metadata", "contacts", "messages"}
    assert value["metadata"] == {
        "display_phone_number": business.digits,
        "phone_number_id": business.number_id,
    }
    assert value["contacts"][0]["profile"] == {"name": "Ana"}
    assert value["contacts"][0]["wa_id"] == item["from"] == "16505551234"
    assert (item["id"], item["type"], item["text"]) == (wamid, "text", {"body": "Hi"})
    assert item["timestamp"].isdigit()


def test_other_types_and_replies_are_passed_through(business: Business, receiver: Receiver) -> None:
    location = {"latitude": 1.5, "longitude": 2.5}
    write(business, type="location", location=location, context={"message_id": "wamid.A"})
    receiver.wait(lambda: bool(receiver.items("messages")))
    (item,) = receiver.items("messages")
    assert (item["type"], item["location"]) == ("location", location)
    assert item["context"] == {"from": business.digits, "id": "wamid.A"}


def test_callbacks_are_signed_over_escaped_bytes(business: Business, receiver: Receiver) -> None:
    write(business, text="ol\u00e1 / caf\u00e9 \U0001f600")
    receiver.wait(lambda: bool(receiver.items("messages")))
    (callback,) = receiver.callbacks
    assert callback.is_signed
    assert rb"ol\u00e1 \/ caf\u00e9 \ud83d\ude00" in callback.raw
    assert receiver.items("messages")[0]["text"]["body"] == "ol\u00e1 / caf\u00e9 \U0001f600"


def test_both_key_orders_occur(business: Business, receiver: Receiver) -> None:
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    orders = {tuple(change) for each in receiver.callbacks for _, change in each.changes}
    assert orders == {("field", "value"), ("value", "field")}


def test_a_callback_is_retried_with_the_same_bytes_until_a_2xx(
    business: Business, receiver: Receiver
) -> None:
    answers = iter([500, 302, 404])
    receiver.answer = lambda _: next(answers, 204)
    write(business, text="Hi")
    receiver.wait(lambda: len(receiver.callbacks) == 4)
    assert len({callback.raw for callback in receiver.callbacks}) == 1
    assert all(callback.is_signed for callback in receiver.callbacks)
    settle(business.sandbox)
    assert len(receiver.callbacks) == 4


def test_a_hanging_callback_times_out_and_is_retried_and_delays_no_other(
    business: Business, receiver: Receiver
) -> None:
    def texts() -> list[str]:
        return [each["text"]["body"] for each in receiver.items("messages")]

    receiver.answer = lambda _: 200 if "another" in texts() else None
    write(business, text="hang")
    receiver.wait(lambda: bool(texts()))
    write(business, text="another")
    receiver.wait(lambda: "another" in texts()[:-1])
    *hung, another, retried = texts()
    assert (set(hung), another, retried) == ({"hang"}, "another", "hang")


def test_callbacks_are_concurrent(business: Business, receiver: Receiver) -> None:
    meeting = threading.Barrier(5, timeout=10)

    def wait_for_others(_: Callback) -> int:
        meeting.wait()
        return 200

    receiver.answer = wait_for_others
    for index in range(5):
        write(business, text=f"{index}")
    # None of the five is answered before all of them have arrived.
    settle(business.sandbox)
    assert len(receiver.callbacks) == 5


def test_reorder_mixes_the_statuses_but_not_their_times(
    business: Business, receiver: Receiver
) -> None:
    business.sandbox.control("PUT", "behaviour", {"reorder": True, "status_delay_ms": 1000})
    wamid = business.send()
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    assert receiver.statuses_of(wamid) != ["sent", "delivered", "read"]
    times = {each["status"]: int(each["timestamp"]) for each in receiver.items("statuses")}
    assert times["sent"] < times["delivered"] < times["read"]


def test_the_duplicate_rate_sends_callbacks_twice(business: Business, receiver: Receiver) -> None:
    business.sandbox.control("PUT", "behaviour", {"duplicate_rate": 1})
    write(business, text="Hi")
    receiver.wait(lambda: len(receiver.callbacks) == 2)
    assert receiver.callbacks[0].raw == receiver.callbacks[1].raw


def test_an_unsubscribed_account_drops_its_callbacks(
    sandbox: Sandbox, business: Business, receiver: Receiver
) -> None:
    other = sandbox.connect()
    assert business.graph("DELETE", f"{business.waba_id}/subscribed_apps").json()["success"]
    wamid = business.send()
    write(business, text="nobody hears this")
    receiver.wait_for_statuses(other.send(), "sent", "delivered", "read")
    settle(sandbox)
    assert receiver.statuses_of(wamid) == []
    assert receiver.items("messages") == []
    # Dropped callbacks are not sent after a new subscription.
    assert business.graph("POST", f"{business.waba_id}/subscribed_apps").ok
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    assert receiver.statuses_of(wamid) == []


def settle(sandbox: Sandbox) -> None:
    """Poll the sandbox until no callback is pending."""
    for _ in range(5000):
        if sandbox.control("GET", "state")["owed"]["total"] == 0:
            return
    raise AssertionError(sandbox.control("GET", "state"))

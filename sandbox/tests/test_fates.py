"""Recipients with a fixed outcome."""

import pytest
import requests

from sandbox_harness import Business, Receiver
from test_callbacks import settle


def final_statuses(receiver: Receiver, business: Business, wamid: str) -> list[str]:
    """The statuses of a message in alphabetical order, once no more are owed."""
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    settle(business.sandbox)
    return sorted(receiver.statuses_of(wamid))


def test_every_other_recipient_is_sent_delivered_read(
    business: Business, receiver: Receiver
) -> None:
    wamid = business.send(biz_opaque_callback_data="msg_1/\u00e1")
    # Callbacks may overtake each other on a busy machine.
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    assert len(receiver.statuses_of(wamid)) == 3
    for item in receiver.items("statuses"):
        assert item["biz_opaque_callback_data"] == "msg_1/\u00e1"
        assert item["recipient_id"] == "16505551234"
        assert item["timestamp"].isdigit()
        assert "errors" not in item
    assert receiver.items("statuses")[0]["pricing"]["pricing_model"] == "PMP"


@pytest.mark.parametrize(("to", "code"), [("15550100001", 131026), ("15550100003", 130429)])
def test_refused_recipients_are_refused_and_not_recorded(
    shared: Business, to: str, code: int
) -> None:
    before = shared.sandbox.accepted()
    response = shared.post(to=to)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, code)
    assert error["message"].startswith(f"(#{code}) ")
    assert error["error_data"]["details"]
    assert shared.sandbox.accepted() == before


def test_15550100002_is_accepted_then_failed(business: Business, receiver: Receiver) -> None:
    wamid = business.send("15550100002", biz_opaque_callback_data="mine")
    receiver.wait_for_statuses(wamid, "failed")
    (item,) = receiver.items("statuses")
    assert item["errors"][0]["code"] == 131049
    assert set(item["errors"][0]) == {"code", "title", "message", "error_data", "href"}
    assert item["biz_opaque_callback_data"] == "mine"
    assert "pricing" not in item


def test_15550100004_is_accepted_then_answered_500(business: Business, receiver: Receiver) -> None:
    response = business.post(to="15550100004")
    assert (response.status_code, response.json()["error"]["code"]) == (500, 131000)
    (message,) = business.sandbox.accepted()
    receiver.wait_for_statuses(message["id"], "sent", "delivered", "read")


def test_15550100005_is_accepted_then_the_connection_closes(
    business: Business, receiver: Receiver
) -> None:
    with pytest.raises(requests.ConnectionError):
        business.post(to="15550100005")
    (message,) = business.sandbox.accepted()
    receiver.wait_for_statuses(message["id"], "sent", "delivered", "read")


def test_15550100006_is_accepted_and_never_has_a_status(
    business: Business, receiver: Receiver
) -> None:
    wamid = business.send("15550100006")
    assert final_statuses(receiver, business, wamid) == []


def test_15550100007_is_delivered_and_never_read(business: Business, receiver: Receiver) -> None:
    wamid = business.send("15550100007")
    assert final_statuses(receiver, business, wamid) == ["delivered", "sent"]

"""The main job: a message goes out, signed events come back."""

from contract_tests.harness import Customer, Receiver


def test_a_message_goes_out_and_signed_events_come_back(
    customer: Customer, receiver: Receiver
) -> None:
    kinds = ["message.sent", "message.delivered", "message.read"]
    created = customer.request("POST", "/webhooks", json={"url": receiver.url(), "events": kinds})
    assert created.status_code == 201, created.text
    sent = customer.send("15551234567")
    assert sent.status_code == 200, sent.text
    events = receiver.wait(count=3)
    assert sorted(r.event["event"] for r in events) == sorted(kinds)
    assert all(r.is_signed_with(created.json()["secret"]) for r in events)
    assert {r.event["data"]["id"] for r in events} == {sent.json()["id"]}

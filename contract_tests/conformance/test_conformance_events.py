"""Events: which are sent, to which webhooks, with which content.

Each event that a test waits for is checked against its callback in the contract and for its signature.
"""

from typing import Any

import pytest

from contract_tests.conformance.events import KINDS, Callbacks, check_message
from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import (
    Hooks,
    Sandbox,
    new_recipient,
    send,
    wait_status,
)
from contract_tests.harness import Customer, Gateway

MESSAGE_KINDS = [kind for kind in KINDS if kind.startswith("message.")]
PROGRESS = ["message.sent", "message.delivered", "message.read"]
FAILED_LATER = "15550100002"


@pytest.fixture(scope="module")
def second_number(gateway: Gateway, customer: Customer) -> dict[str, str]:
    """Another number of the customer's."""
    return dict(gateway.cli("sandbox-connect", customer.account_id))


def test_the_contract_describes_the_eight_kinds(callbacks: Callbacks) -> None:
    """The contract has one callback for each kind."""
    assert callbacks.kinds == set(KINDS)


def test_an_inbound_message_is_received(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'message.received: An inbound message arrives'; the fields of the Message object."""
    hook, person = hooks("message.received"), new_recipient()
    sandbox.write(number["phoneNumber"], person, text="Where is my order? \U0001f69a")
    [event] = hook.wait_kind("message.received")
    check_message(event["data"])
    expected = {
        "numberId": number["id"],
        "direction": "INBOUND",
        "fromNumber": person,
        "toNumber": number["phoneNumber"],
        "type": "text",
        "body": {"body": "Where is my order? \U0001f69a"},
    }
    assert event["data"].items() >= expected.items()


def test_a_received_message_can_be_read_back(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """'data: a Message object': equal to the API's response."""
    hook = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient())
    [event] = hook.wait()
    message = api.get(f"/messages/{event['data']['id']}")
    assert message.pop("statusHistory")
    assert message == event["data"]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("image", {"id": "1234", "mime_type": "image/jpeg", "sha256": "x", "caption": "Look"}),
        ("location", {"latitude": 37.48, "longitude": -122.14, "name": "Office"}),
        ("reaction", {"message_id": "wamid.x", "emoji": "\U0001f44d"}),
        ("something_new", {"anything": [1, {"two": None}]}),
    ],
)
def test_an_inbound_message_of_another_type_carries_its_content(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str], kind: str, content: dict[str, Any]
) -> None:
    """type: Message type, for example text. body: Content."""
    hook = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient(), type=kind, **{kind: content})
    [event] = hook.wait()
    check_message(event["data"])
    assert event["data"]["type"] == kind
    assert event["data"]["body"].items() >= content.items()


def test_a_sent_message_has_events_until_it_is_read(hooks: Hooks, number: dict[str, str]) -> None:
    """'message.sent, message.delivered, message.read', about the message of the send response."""
    hook, to = hooks(*MESSAGE_KINDS), new_recipient()
    sent = send(hooks.api, number["id"], to, text="On its way").json()
    events = {event["event"]: event["data"] for event in hook.wait_about(sent["id"], 3)}
    assert set(events) == set(PROGRESS)
    for kind, message in events.items():
        check_message(message)
        assert message["id"] == sent["id"]
        assert message["numberId"] == number["id"]
        assert message["direction"] == "OUTBOUND"
        assert message["fromNumber"] == number["phoneNumber"]
        assert message["toNumber"] == to
        assert message["body"] == {"body": "On its way"}
        assert message["waMessageId"] == sent["wa_message_id"]
        # The network's callbacks may arrive out of order. A status never moves backwards.
        assert PROGRESS.index(f"message.{message['status']}") >= PROGRESS.index(kind)


def test_a_failed_message_has_an_event(hooks: Hooks, number: dict[str, str]) -> None:
    """message.failed: A message delivery fails."""
    hook = hooks("message.failed")
    sent = send(hooks.api, number["id"], FAILED_LATER).json()
    [event] = hook.wait_about(sent["id"])
    check_message(event["data"])
    assert event["data"]["status"] == "failed"


def test_each_webhook_gets_the_kinds_that_it_subscribed_to(
    api: Api, hooks: Hooks, number: dict[str, str]
) -> None:
    """'Sent to webhooks that subscribed to the event kind', to all of them and no other."""
    single = {kind: hooks(kind) for kind in ("message.sent", "message.delivered", "message.read")}
    twin, other = hooks("message.read"), hooks("message.received", "number.banned")
    sent = send(api, number["id"], new_recipient()).json()
    for kind, hook in single.items():
        assert [e["event"] for e in hook.wait_about(sent["id"])] == [kind]
    twin.wait_about(sent["id"])
    wait_status(api, sent["id"], "read")
    assert other.deliveries() == []
    for kind, hook in single.items():
        assert {d["event"] for d in hook.deliveries()} == {kind}


def test_number_ids_limit_delivery_to_these_numbers(
    api: Api,
    sandbox: Sandbox,
    hooks: Hooks,
    number: dict[str, str],
    second_number: dict[str, str],
) -> None:
    """If numberIds is non-empty, only for those numbers."""
    mine = hooks("message.received", number_ids=[number["id"]])
    both = hooks("message.received", number_ids=[number["id"], second_number["id"]])
    all_of_them = hooks("message.received")
    sandbox.write(second_number["phoneNumber"], new_recipient())
    for hook in (both, all_of_them):
        [event] = hook.wait()
        assert event["data"]["numberId"] == second_number["id"]
    sandbox.write(number["phoneNumber"], new_recipient())
    for hook in (both, all_of_them):
        hook.wait(2)
    [event] = mine.wait()
    assert event["data"]["numberId"] == number["id"]
    assert len(mine.deliveries()) == 1
    # The filter applies to events of numbers too.
    assert api.get("/numbers")["pagination"]["total"] >= 2


def test_an_event_goes_to_its_own_account_only(
    other_api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The account's own HTTP endpoints."""
    mine, theirs = hooks(*KINDS), hooks(*KINDS, api=other_api)
    sandbox.write(number["phoneNumber"], new_recipient())
    mine.wait()
    assert theirs.deliveries() == []
    assert theirs.requests == []


def test_events_from_before_a_webhook_existed_are_not_sent_to_it(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """Events go to webhooks that are subscribed at the time of the event."""
    early = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient())
    early.wait()
    late = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient())
    early.wait(2)
    late.wait()
    assert len(late.deliveries()) == 1


def test_a_delivery_is_a_post_request_with_a_json_body(
    hooks: Hooks, number: dict[str, str]
) -> None:
    """Deliveries are HTTP POST requests with a JSON body to the webhook's url."""
    hook = hooks("message.sent")
    send(hooks.api, number["id"], new_recipient())
    hook.wait()
    [received] = hook.requests
    assert received.method == "POST"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["content-length"] == str(len(received.body))
    assert set(received.event) == {"id", "event", "timestamp", "data"}

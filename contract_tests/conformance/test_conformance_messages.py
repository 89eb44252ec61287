"""POST /messages/send, the Message, and reading messages."""

from typing import Any

import pytest

from contract_tests.conformance.events import check_message
from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import (
    Hooks,
    Sandbox,
    new_recipient,
    send,
    steps,
    text_to,
    wait_status,
)

LONGEST = 4096


def test_the_response_has_both_identifiers_and_the_status_sent(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """'Response: object with id, wa_message_id, status', with the status sent."""
    to = new_recipient()
    sent = send(api, number["id"], to).json()
    assert set(sent) == {"id", "wa_message_id", "status"}
    assert sent["status"] == "sent"
    # "Identifier assigned by the messaging network."
    assert [m["id"] for m in sandbox.accepted(to)] == [sent["wa_message_id"]]
    # "Identifier assigned by the service."
    assert api.get(f"/messages/{sent['id']}")["waMessageId"] == sent["wa_message_id"]


def test_the_message_reaches_the_recipient_as_it_was_given(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """Lets an account send messages from a connected phone number to a recipient."""
    to, text = new_recipient(), "Gr\u00fc\u00dfe \U0001f44b\n\u202e"
    send(api, number["id"], to, text=text)
    [accepted] = sandbox.accepted(to)
    assert accepted["type"] == "text"
    assert accepted["text"]["body"] == text


def test_identifiers_are_unique(api: Api, number: dict[str, str]) -> None:
    """Message identifier (also the deduplication key)."""
    to = new_recipient()
    sent = [send(api, number["id"], to).json() for _ in range(5)]
    assert len({s["id"] for s in sent}) == len({s["wa_message_id"] for s in sent}) == 5


@pytest.mark.parametrize("name", ["number_id", "to", "type", "text"])
def test_every_field_of_a_text_is_required(api: Api, number: dict[str, str], name: str) -> None:
    """number_id, to, type: required: yes. text: for type text."""
    body = text_to(number["id"], new_recipient())
    del body[name]
    refused = api.call("POST", "/messages/send", 400, json=body)
    assert name in refused.json()["error"]["message"]
    assert api.contract.refuses(refused.request)


@pytest.mark.parametrize(
    "change",
    [
        {"number_id": 7},
        {"number_id": None},
        {"number_id": ""},
        {"type": "fax"},
        {"type": 1},
        {"type": None},
        {"text": "Hello"},
        {"text": None},
        {"text": {}},
        {"text": {"body": ""}},
        {"text": {"body": 5}},
        {"text": {"body": None}},
        {"text": {"body": "a\0b"}},
        {"text": {"body": "x" * (LONGEST + 1)}},
        {"reference": None},
        {"reference": 4711},
        {"reference": ""},
        {"reference": "x" * 129},
        {"reference": "a\0b"},
        {"reference": "order-4711\n"},
        {"reference": "a\x7fb"},
    ],
    ids=str,
)
def test_a_field_of_the_wrong_kind_is_refused(
    api: Api, sandbox: Sandbox, number: dict[str, str], change: dict[str, Any]
) -> None:
    """number_id, to and type are strings, text is an object with a string."""
    to = new_recipient()
    refused = api.call("POST", "/messages/send", 400, json=text_to(number["id"], to) | change)
    assert api.contract.refuses(refused.request)
    assert sandbox.accepted(to) == []


@pytest.mark.parametrize("letter", ["x", "\u00fc", "\U0001f44b"])
def test_a_text_may_have_4096_characters(api: Api, number: dict[str, str], letter: str) -> None:
    """The limit is the network's."""
    send(api, number["id"], new_recipient(), text=letter * LONGEST)


def test_a_message_is_stored_with_the_fields_of_the_message_object(
    api: Api, number: dict[str, str]
) -> None:
    """The fields of the Message object, for an outbound message."""
    to = new_recipient()
    sent = send(api, number["id"], to, text="Keep me").json()
    message = api.get(f"/messages/{sent['id']}")
    check_message(message)
    assert message["id"] == sent["id"]
    assert message["numberId"] == number["id"]
    assert message["direction"] == "OUTBOUND"
    assert message["fromNumber"] == number["phoneNumber"]
    assert message["toNumber"] == to
    assert message["type"] == "text"
    assert message["body"] == {"body": "Keep me"}
    assert message["error"] is None


@pytest.mark.parametrize("reference", ["order-4711", "0", " ", ("\u00fc <\U0001f44b>" * 26)[:128]])
def test_a_reference_comes_with_the_message_and_its_events_and_not_to_the_network(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str], reference: str
) -> None:
    """The caller's own name for a message."""
    hook = hooks("message.sent", "message.delivered", "message.read")
    to = new_recipient()
    body = text_to(number["id"], to) | {"reference": reference}
    sent = api.call("POST", "/messages/send", 200, json=body).json()
    # The webhook gets the events of other tests too.
    events = hook.wait_about(sent["id"], 3)
    assert [event["data"]["reference"] for event in events] == [reference] * 3
    page = api.get("/messages", params={"reference": reference, "phone": to})
    assert [m["id"] for m in page["data"]] == [sent["id"]]
    assert api.get(f"/messages/{sent['id']}")["reference"] == reference
    [accepted] = sandbox.accepted(to)
    assert accepted["biz_opaque_callback_data"] == sent["id"]
    assert reference not in (value for value in accepted.values() if isinstance(value, str))


def test_a_message_without_a_reference_has_none(api: Api, number: dict[str, str]) -> None:
    """Null."""
    sent = send(api, number["id"], new_recipient()).json()
    assert api.get(f"/messages/{sent['id']}")["reference"] is None


def test_a_message_stores_all_its_statuses(api: Api, number: dict[str, str]) -> None:
    """GET /messages/{id}."""
    sent = send(api, number["id"], new_recipient()).json()
    message = wait_status(api, sent["id"], "read")
    assert steps(message) == {"pending", "sent", "delivered", "read"}


def test_messages_are_listed_newest_first(api: Api, number: dict[str, str]) -> None:
    """GET /messages."""
    to = new_recipient()
    sent = [send(api, number["id"], to).json()["id"] for _ in range(3)]
    listed = [m["id"] for m in api.get("/messages", params={"limit": "3"})["data"]]
    assert listed == sent[::-1]


def test_messages_can_be_filtered(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """By number, direction and status."""
    hook = hooks("message.received")
    person = new_recipient()
    sandbox.write(number["phoneNumber"], person)
    hook.wait()
    read = send(api, number["id"], person).json()["id"]
    wait_status(api, read, "read")

    def found(**filters: str) -> list[dict[str, Any]]:
        page = api.get("/messages", params={"limit": "100", **filters})
        messages: list[dict[str, Any]] = page["data"]
        return messages

    inbound = found(direction="INBOUND")
    assert {m["direction"] for m in inbound} == {"INBOUND"}
    assert person in {m["fromNumber"] for m in inbound}
    assert {m["direction"] for m in found(direction="OUTBOUND")} == {"OUTBOUND"}
    assert {m["status"] for m in found(status="read")} == {"read"}
    assert read in {m["id"] for m in found(status="read", numberId=number["id"])}
    assert {m["status"] for m in found(status="received")} == {"received"}
    assert found(direction="INBOUND", status="read") == []


def test_messages_are_found_by_each_of_their_properties(api: Api, number: dict[str, str]) -> None:
    """By person, type, network's identifier, error and time."""
    person = new_recipient()
    sent = send(api, number["id"], person).json()
    message = wait_status(api, sent["id"], "read")
    failed = wait_status(api, send(api, number["id"], "15550100002").json()["id"], "failed")

    def found(**filters: str) -> set[str]:
        return {m["id"] for m in api.get("/messages", params={"limit": "100", **filters})["data"]}

    assert found(phone=person) == found(waMessageId=sent["wa_message_id"]) == {message["id"]}
    assert found(phone=person, type="text", since=message["createdAt"]) == {message["id"]}
    assert found(phone=person, until=message["createdAt"]) == found(phone=person, type="image")
    assert failed["id"] in found(errorText="131049") & found(errorText="MARKETING MESSAGES")
    assert message["id"] not in found(errorText="131049")


@pytest.mark.parametrize(
    "query",
    [
        "direction=inbound",
        "status=gone",
        "numberId=a.b",
        "phone=%2B15551234567",
        "phone=one",
        "type=a%20b",
        "waMessageId=a%20b",
        "errorText=%00",
        "reference=a%0A",
    ],
)
def test_an_invalid_filter_is_refused(api: Api, query: str) -> None:
    """400 VALIDATION_ERROR: Request body or query parameters fail validation."""
    refused = api.call("GET", f"/messages?{query}", 400)
    assert refused.json()["error"]["details"]["field"] == f"/{query.partition('=')[0]}"
    assert api.contract.refuses(refused.request)


@pytest.mark.parametrize("query", ["since=yesterday", "until=2026-11-20T09:30:00"])
def test_an_invalid_time_is_refused(api: Api, query: str) -> None:
    """The same."""
    refused = api.call("GET", f"/messages?{query}", 400)
    assert refused.json()["error"]["details"]["field"] == f"/{query.partition('=')[0]}"


@pytest.mark.parametrize("name", ["numberId", "phone", "type", "waMessageId", "reference", "since"])
def test_an_empty_filter_is_refused(api: Api, name: str) -> None:
    """The same. openapi-core ignores a parameter without a value."""
    assert api.get(f"/messages?{name}=", 400)["error"]["details"]["field"] == f"/{name}"


def test_the_list_holds_the_accounts_own_messages_only(
    api: Api, other_api: Api, number: dict[str, str]
) -> None:
    """'A resource that belongs to a different account' is not listed either."""
    sent = send(api, number["id"], new_recipient()).json()["id"]
    assert sent in {m["id"] for m in api.get("/messages")["data"]}
    assert sent not in {m["id"] for m in other_api.get("/messages?limit=100")["data"]}

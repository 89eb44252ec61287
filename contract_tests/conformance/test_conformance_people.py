"""People: one contact through all changes of its identifiers, and the effect of an opt-out."""

import secrets
import time
from typing import Any

import pytest

from contract_tests.conformance.events import check_message
from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient, send, wait_status
from contract_tests.harness import Customer, Gateway, wait_for

BODY = {"type": "BODY", "text": "Hello"}


def contacts(api: Api, **wanted: str) -> list[dict[str, Any]]:
    """The matching contacts."""
    found: list[dict[str, Any]] = api.get("/contacts", params=wanted)["data"]
    return found


def test_a_person_stays_one_contact_from_the_first_message_on(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """A reply goes to fromNumber: the phone number, or the user id if no phone number is known."""
    hook = hooks("message.received", "message.delivered", "contact.updated")
    user_id, first, second = f"US.{secrets.randbelow(10**15)}", new_recipient(), new_recipient()
    sandbox.change_person(user_id, username="ana.b", name="Ana", hidden=True)

    def writes(as_who: str, count: int) -> dict[str, Any]:
        sandbox.write(number["phoneNumber"], as_who, text={"body": f"Message {count}"})
        event: dict[str, Any] = hook.wait_kind("message.received", count)[-1]["data"]
        return event

    received = writes(user_id, 1)
    assert received["fromNumber"] == user_id
    assert received["contact"] == {
        "phone": None,
        "userId": user_id,
        "parentUserId": None,
        "username": "ana.b",
        "name": "Ana",
    }
    [contact] = contacts(api, userId=user_id)
    answer = send(api, number["id"], received["fromNumber"]).json()
    assert wait_status(api, answer["id"], "read")["contact"] == received["contact"]

    # A phone number, a second phone number, a second username.
    sandbox.change_person(user_id, phone=first, hidden=False)
    assert writes(first, 2)["contact"]["phone"] == first
    sandbox.change_person(first, phone=second)
    moved = hook.wait_kind("message.received", 3)[-1]["data"]
    assert (moved["type"], moved["body"]["wa_id"]) == ("system", second)
    sandbox.change_person(second, username="ana.c")
    last = writes(second, 4)
    assert (last["contact"]["username"], last["contact"]["phone"]) == ("ana.c", second)

    shown = api.get(f"/contacts/{contact['id']}")
    assert [each["id"] for each in contacts(api, phone=second)] == [contact["id"]]
    assert contacts(api, phone=first) == []
    assert contacts(api, userId=shown["userId"]) == [
        {name: value for name, value in shown.items() if name != "history"}
    ]
    history = [(each["field"], each["old"], each["new"]) for each in shown["history"]]
    assert ("phone", None, first) in history
    assert ("phone", first, second) in history
    assert ("userId", user_id, shown["userId"]) in history
    assert ("username", "ana.b", "ana.c") in history
    under_it = api.get("/messages", params={"contactId": contact["id"]})
    assert under_it["pagination"]["total"] == 5
    assert len(hook.wait_kind("contact.updated", 2)) == 2


@pytest.fixture
def templates(api: Api, number: dict[str, str]) -> dict[str, str]:
    """An approved template of each category, by category."""
    path, names = f"/numbers/{number['id']}/templates", {}
    for category in ("MARKETING", "UTILITY"):
        name = f"{category.lower()}_{secrets.token_hex(6)}"
        body = {"name": name, "language": "en_US", "category": category, "components": [BODY]}
        api.post(path, 201, json=body)
        names[category] = name

    def approved() -> bool:
        found = [api.get(path, params={"name": name})["data"] for name in names.values()]
        return all(each and each[0]["status"] == "APPROVED" for each in found)

    wait_for(approved, "approved templates")
    return names


def opt_out(
    how: str, sandbox: Sandbox, gateway: Gateway, customer: Customer, contact: dict[str, Any]
) -> None:
    """A person opts out in one of the possible ways."""
    if how == "network":
        sandbox.change_person(contact["phone"], marketing="stop")
    elif how == "api":
        customer.request("PATCH", f"/contacts/{contact['id']}", json={"optedOut": True})
    else:
        gateway.cli("accounts", "words", customer.account_id, "--stop", "stop")
        sandbox.write(customer.number["phoneNumber"], contact["phone"], text={"body": "STOP"})


@pytest.mark.parametrize("how", ["network", "api", "word"])
def test_a_person_who_opted_out_gets_no_marketing(
    gateway: Gateway,
    customer: Customer,
    api: Api,
    sandbox: Sandbox,
    hooks: Hooks,
    number: dict[str, str],
    templates: dict[str, str],
    how: str,
) -> None:
    """409 CONFLICT, before a request to the network."""
    hook, to = hooks("contact.updated"), new_recipient()

    def send_template(category: str, expect: int) -> Any:
        content = {"name": templates[category], "language": {"code": "en_US"}}
        body = {"number_id": number["id"], "to": to, "type": "template", "template": content}
        return api.call("POST", "/messages/send", expect, json=body, fits=True).json()

    with sandbox.behaving(message_status="held_for_quality_assessment"):
        held = send_template("MARKETING", 200)
    assert api.get(f"/messages/{held['id']}")["acceptance"] == "held_for_quality_assessment"
    [contact] = contacts(api, phone=to)
    opt_out(how, sandbox, gateway, customer, contact)
    [event] = hook.wait_kind("contact.updated")
    assert (event["data"]["optedOut"], event["data"]["optedOutBecause"]) == (True, how)
    before = len(sandbox.accepted(to))
    refused = send_template("MARKETING", 409)["error"]
    assert (refused["code"], refused["details"]["field"]) == ("CONFLICT", "/to")
    assert len(sandbox.accepted(to)) == before
    send_template("UTILITY", 200)
    assert len(sandbox.accepted(to)) == before + 1


def test_what_the_owner_writes_in_the_app_is_an_event_of_its_own(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """message.echoed, and origin: where the message comes from."""
    hook, person = hooks("message.echoed", "message.sent"), new_recipient()
    said = {"to": person, "text": {"body": "From my phone"}}
    sandbox.announce(number["phoneNumber"], "smb_message_echoes", message_echoes=[said])
    [event] = hook.wait_kind("message.echoed")
    check_message(event["data"])
    expected = {"direction": "OUTBOUND", "origin": "APP", "toNumber": person, "status": "sent"}
    assert event["data"].items() >= expected.items()
    message = api.get(f"/messages/{event['data']['id']}")
    assert {name: message[name] for name in event["data"]} == event["data"]
    assert [each["event"] for each in hook.deliveries()] == ["message.echoed"]


def test_the_history_and_the_contacts_of_the_app_are_shown(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """origin: HISTORY. savedName: the name under which the owner keeps the person."""
    hook, person = hooks("message.received", "message.echoed"), new_recipient()
    contact = {"full_name": "Ana Berg", "phone_number": person}
    sandbox.announce(number["phoneNumber"], "smb_app_state_sync", state_sync=[{"contact": contact}])
    old = {
        "id": f"wamid.{person}",
        "from": person,
        "timestamp": str(int(time.time()) - 3600),
        "type": "text",
        "text": {"body": "Are you open?"},
        "history_context": {"status": "READ"},
    }
    chunk = {"metadata": {"phase": 0}, "threads": [{"id": person, "messages": [old]}]}
    sandbox.announce(number["phoneNumber"], "history", history=[chunk])
    wait_for(sandbox.has_told_all, "the history")
    [message] = api.get("/messages", params={"phone": person})["data"]
    assert (message["origin"], message["direction"]) == ("HISTORY", "INBOUND")
    [known] = api.get("/contacts", params={"phone": person})["data"]
    assert (known["savedName"], known["windowOpenUntil"]) == ("Ana Berg", None)
    assert hook.deliveries() == []

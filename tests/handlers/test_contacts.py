"""Contacts in the API: finding them, their history, the account's own note, consent."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from handlers import contacts as handlers
from models.accounts.account import Account
from models.accounts.actor import NETWORK
from models.accounts.audit import Audit
from models.database import writing
from models.deliveries.event import Event
from models.errors import ConflictError, ForbiddenError, NotFoundError
from models.messages.contact import Contact, Source
from models.messages.idempotency import IdempotencyKey
from models.messages.identity import record as record_person
from models.messages.message import Message
from models.numbers.number import Number
from networks import exceptions
from networks.memory.network import MemoryNetwork
from services import sending, template_reads
from tests import factories
from tests.conftest import Clock
from tests.fake_templates import Network, definition, known
from tests.tasks.callbacks import ingest_now, messages, text

ANA = {"phone": "15551234567", "user_id": "US.1", "username": "ana.b", "name": "Ana Banana"}
BOB = {"phone": None, "user_id": "US.2", "username": "bob", "name": "Bob"}


def meet(number: Number, identity: Mapping[str, str | None]) -> Contact:
    """The contact of a person who wrote."""
    with writing():
        return record_person(number, identity, Source.MESSAGE, 1)[0]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """The network that a send calls."""
    network = Network()
    for module in (sending, template_reads):
        monkeypatch.setattr(module, "network_of", lambda _: network)
    return network


def found(account_id: str, **wanted: str) -> list[str | None]:
    """The usernames of the matching contacts."""
    page = handlers.list_contacts(account_id, 20, 0, **wanted)
    assert page["pagination"]["total"] == len(page["data"])
    return [each["username"] for each in page["data"]]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["bob", "ana.b"]),
        ({"phone": "15551234567"}, ["ana.b"]),
        ({"user_id": "US.2"}, ["bob"]),
        ({"username": "ana.b"}, ["ana.b"]),
        ({"name": "BANANA"}, ["ana.b"]),
        ({"name": "%"}, []),
        ({"name": "b", "user_id": "US.2"}, ["bob"]),
        ({"phone": "15550000000"}, []),
    ],
)
def test_contacts_are_found(number: Number, wanted: dict[str, str], expected: list[str]) -> None:
    meet(number, ANA)
    meet(number, BOB)
    meet(factories.active_number(Account.open("Rival", "pro"), "1009"), ANA)
    assert found(number.account_id, **wanted) == expected
    assert found(number.account_id, **wanted, number_id=number.id) == expected


def test_contacts_of_another_accounts_number_are_not_listed(number: Number) -> None:
    foreign = factories.active_number(Account.open("Rival", "pro"), "1009")
    with pytest.raises(ForbiddenError):
        found(number.account_id, number_id=foreign.id)


def test_a_contact_of_another_account_is_forbidden(account: Account) -> None:
    foreign = meet(factories.active_number(Account.open("Rival", "pro"), "1009"), ANA)
    with pytest.raises(ForbiddenError):
        handlers.get_contact(account.id, foreign.id)
    with pytest.raises(ForbiddenError):
        handlers.update_contact(account.id, foreign.id, {"note": "x"})
    with pytest.raises(NotFoundError):
        handlers.get_contact(account.id, "ctc_nothing")
    assert Contact.get_by_id(foreign.id).note is None


def test_the_window_is_open_for_24_hours_after_a_message(number: Number, clock: Clock) -> None:
    factories.inbound(number)
    [contact] = Contact.select()
    clock.advance(hours=23)
    factories.outbound(number)
    shown = handlers.get_contact(number.account_id, contact.id)
    assert shown["lastInboundAt"] < shown["lastOutboundAt"] < shown["windowOpenUntil"]
    clock.advance(hours=1)
    assert handlers.get_contact(number.account_id, contact.id)["windowOpenUntil"] is None


@pytest.mark.parametrize(
    "about",
    [
        {"type": "system", "system": {"type": "user_changed_user_id", "user_id": "US.9"}},
        {"group_id": "Y2FwaV9ncm91cA"},
    ],
)
def test_system_messages_and_messages_in_groups_do_not_open_the_window(
    number: Number, clock: Clock, about: dict[str, Any]
) -> None:
    ingest_now(messages(messages=[text("wamid.A") | about]))
    [contact] = Contact.select()
    shown = handlers.get_contact(number.account_id, contact.id)
    assert (shown["windowOpenUntil"], shown["lastInboundAt"] is None) == (None, False)
    ingest_now(messages(messages=[text("wamid.B")]))
    opened = handlers.get_contact(number.account_id, contact.id)["windowOpenUntil"]
    clock.advance(hours=1)
    ingest_now(messages(messages=[text("wamid.C") | about]))
    assert handlers.get_contact(number.account_id, contact.id)["windowOpenUntil"] == opened


def _calls(*calls: dict[str, Any]) -> None:
    """Changes of calls arrive."""
    metadata = {"phone_number_id": "1001", "display_phone_number": "15550001111"}
    for call in calls:
        value = {"metadata": metadata, "calls": [call]}
        ingest_now({"id": "2001", "changes": [{"field": "calls", "value": value}]})


def test_a_call_of_a_person_opens_the_window_from_its_beginning(
    number: Number, clock: Clock
) -> None:
    def call(event: str, age: int, call_id: str = "wacid.A", **changes: Any) -> dict[str, Any]:
        told = {"id": call_id, "from": "15551234567", "to": "15550001111", "event": event}
        return told | {"timestamp": str(clock.at // 1000 - age)} | changes

    def open_until() -> Any:
        [listed] = handlers.list_contacts(number.account_id, 20, 0)["data"]
        alone = handlers.get_contact(number.account_id, listed["id"])
        assert alone["windowOpenUntil"] == listed["windowOpenUntil"]
        return listed["windowOpenUntil"]

    ours = {"from": "15550001111", "to": "15551234567", "direction": "BUSINESS_INITIATED"}
    _calls(call("connect", 60, "wacid.O", **ours), call("connect", 90_000, "wacid.L"))
    assert open_until() is None
    _calls(call("terminate", 60, status="FAILED"), call("connect", 120))
    assert open_until() == "2026-11-21T09:28:00.000Z"
    clock.advance(hours=1)
    ingest_now(messages(messages=[text()]))
    assert open_until() == "2026-11-21T10:30:01.000Z"
    _calls(call("connect", 0, "wacid.B"))
    clock.advance(hours=23, minutes=59)
    assert open_until() == "2026-11-21T10:30:01.000Z"
    clock.advance(minutes=2)
    assert open_until() is None


def test_the_network_of_the_number_says_how_long_the_window_is(
    number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact = meet(number, ANA)
    factories.inbound(number)
    monkeypatch.setattr(MemoryNetwork, "service_window_ms", 60_000)
    clock.at += 60_000
    assert handlers.get_contact(number.account_id, contact.id)["windowOpenUntil"] is not None
    with writing():
        Number.update(network="memory").execute()
    assert handlers.get_contact(number.account_id, contact.id)["windowOpenUntil"] is None


def test_a_merged_contact_is_found_under_both_identifiers(number: Number) -> None:
    mine, merged = meet(number, {"user_id": "US.1"}), meet(number, {"phone": "15551234567"})
    meet(number, ANA)
    shown = handlers.get_contact(number.account_id, merged.id)
    assert shown == handlers.get_contact(number.account_id, mine.id)
    assert shown["id"] == mine.id
    assert {"field": "contact", "old": merged.id, "new": mine.id, "because": "message"} in [
        {name: each[name] for name in ("field", "old", "new", "because")}
        for each in shown["history"]
    ]


def test_a_note_is_kept_and_is_no_event(number: Number) -> None:
    contact = meet(number, ANA)
    for note in ("VIP", ""):
        shown = handlers.update_contact(number.account_id, contact.id, {"note": note})
        assert shown["note"] == (note or None)
        assert not shown["optedOut"]
    assert Event.select().count() == 0


def test_a_change_of_the_note_is_audited_once_and_without_the_text(number: Number) -> None:
    contact = meet(number, ANA)
    for note in ("VIP", "VIP", ""):
        handlers.update_contact(number.account_id, contact.id, {"note": note})
    rows = list(Audit.select().where(Audit.action == "contact.note_changed"))
    assert [row.subject for row in rows] == [contact.id] * 2
    assert "VIP" not in str([(row.before, row.after) for row in rows])


def test_opting_out_is_an_event_once(number: Number) -> None:
    contact = meet(number, ANA)
    for _ in range(2):
        shown = handlers.update_contact(number.account_id, contact.id, {"optedOut": True})
        assert (shown["optedOut"], shown["optedOutBecause"]) == (True, "api")
    assert [event.kind for event in Event.select()] == ["contact.updated"]


def send(number: Number, name: str, to: str = "15551234567") -> Message:
    """Send a template."""
    template = {"name": name, "language": {"code": "en_US"}}
    body = {"number_id": number.id, "to": to, "type": "template", "template": template}
    asyncio.run(sending.send(number.account_id, body, None))
    return Message.select().order_by(Message.id.desc()).get()


@pytest.fixture
def _templates(number: Number, network: Network) -> None:
    body = {"type": "BODY", "text": "Hello"}
    network.templates = [
        definition("sale", "en_US", body, template_id="501", category="MARKETING"),
        definition("receipt", "en_US", body, template_id="502", category="UTILITY"),
    ]
    known(number, *network.templates)


@pytest.mark.usefixtures("_templates")
def test_who_opted_out_gets_no_marketing(number: Number, network: Network) -> None:
    contact = meet(number, ANA)
    send(number, "sale")
    handlers.update_contact(number.account_id, contact.id, {"optedOut": True})
    with pytest.raises(ConflictError, match=rf"\b{contact.id}\b.*\bMARKETING\b") as e:
        send(number, "sale")
    assert e.value.details == {"field": "/to"}
    with pytest.raises(ConflictError, match=r"\bMARKETING\b"):
        send(number, "sale", to="US.1")
    send(number, "receipt")
    assert len(network.sent) == 2
    handlers.update_contact(number.account_id, contact.id, {"optedOut": False})
    send(number, "sale")
    assert len(network.sent) == Message.select().count() == 3


def test_a_template_of_unknown_category_is_refused_for_a_person_who_opted_out(
    number: Number, network: Network
) -> None:
    contact = meet(number, ANA)
    handlers.update_contact(number.account_id, contact.id, {"optedOut": True})
    with pytest.raises(ConflictError):
        send(number, "sale")
    assert network.sent == []


def test_a_refusal_of_the_network_opts_out(number: Number, network: Network) -> None:
    contact = meet(number, ANA)
    network.failure = exceptions.RefusedError("131050", "User has stopped marketing messages")
    send(number, "sale")
    shown = handlers.get_contact(number.account_id, contact.id)
    assert (shown["optedOut"], shown["optedOutBecause"]) == (True, "error")
    assert Audit.get(Audit.action == "contact.opted_out").actor == NETWORK


def test_a_message_shows_its_person_and_what_it_replies_to(
    number: Number, network: Network
) -> None:
    contact = meet(number, ANA)
    question = factories.inbound(number)
    assert question is not None
    body = {
        "number_id": number.id,
        "to": "US.1",
        "type": "text",
        "text": {"body": "Yes"},
        "context": {"message_id": question.id},
    }
    asyncio.run(sending.send(number.account_id, body, None))
    [reply] = Message.select().where(Message.to_number == "US.1")
    assert reply.contact_id == contact.id
    assert (reply.quoted_id, reply.quoted_wa_id) == (question.id, "wamid.IN")
    assert network.asked[0].to == "US.1"


def test_a_contact_that_is_erased_while_it_is_read_is_gone(
    number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged, mine = meet(number, {"phone": "15551234567"}), meet(number, {"user_id": "US.1"})
    meet(number, ANA)
    by_id = Contact.by_id
    monkeypatch.setattr(Contact, "by_id", lambda id_: None if id_ == mine.id else by_id(id_))
    with pytest.raises(NotFoundError):
        handlers.get_contact(number.account_id, merged.id)


def test_an_erased_contact_is_gone_with_its_messages(number: Number) -> None:
    merged = meet(number, {"phone": "15551234567"})
    contact = meet(number, {"user_id": "US.1"})
    meet(number, ANA)
    message = factories.inbound(number)
    assert message is not None
    assert handlers.delete_contact(number.account_id, merged.id).status_code == 204
    for contact_id in (merged.id, contact.id):
        with pytest.raises(NotFoundError):
            handlers.get_contact(number.account_id, contact_id)
        with pytest.raises(NotFoundError):
            handlers.delete_contact(number.account_id, contact_id)
    assert found(number.account_id) == []
    assert (Message.by_id(message.id), Contact.select().count()) == (None, 0)


def test_another_accounts_contact_is_not_erased(number: Number) -> None:
    contact = meet(number, ANA)
    with pytest.raises(ForbiddenError):
        handlers.delete_contact(Account.open("Rival", "pro").id, contact.id)
    assert Contact.by_id(contact.id) is not None


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (None, 200),
        (exceptions.RefusedError("131050", "User has stopped marketing messages"), 400),
        (exceptions.AmbiguousError("timeout", "No answer."), 500),
    ],
)
def test_a_send_ends_as_usual_while_its_person_is_erased(
    number: Number, network: Network, failure: exceptions.NetworkError | None, status: int
) -> None:
    contact = meet(number, ANA)
    network.failure = failure

    def erase() -> None:
        handlers.delete_contact(number.account_id, contact.id)

    network.meanwhile = erase
    body = {"number_id": number.id, "to": "US.1", "type": "text", "text": {"body": "Yes"}}
    response = asyncio.run(sending.send(number.account_id, body, "key-1"))
    assert response.status == status
    assert [row.select().count() for row in (Message, Event, Contact)] == [0] * 3
    [key] = IdempotencyKey.select()
    assert (key.message_id, key.fingerprint, key.response_body) == (None, "", None)


def test_the_key_of_an_erased_message_never_sends_again(
    number: Number, network: Network, clock: Clock
) -> None:
    body = {"number_id": number.id, "to": "US.1", "type": "text", "text": {"body": "Yes"}}
    asyncio.run(sending.send(number.account_id, body, "key-1"))
    [contact] = Contact.select()
    handlers.delete_contact(number.account_id, contact.id)
    for changed in ({}, {"to": "US.2"}):
        with pytest.raises(ConflictError, match=sending.ERASED):
            asyncio.run(sending.send(number.account_id, body | changed, "key-1"))
    assert len(network.asked) == 1
    clock.advance(hours=24)
    assert asyncio.run(sending.send(number.account_id, body, "key-1")).status == 200

"""Contacts from callbacks: one for each person, also after changes. Consent, and contact.updated."""

import json
from typing import Any

import pytest

from models import clock
from models.accounts.account import Account, ConsentScope
from models.database import writing
from models.deliveries.event import Event
from models.messages.contact import Contact, Source
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from networks.interface import Acceptance
from networks.items import Person, PersonUpdate
from services import contacts, message_status
from tests import factories, fake_templates
from tests.tasks.callbacks import ingest_now, kinds, messages, status_of, text

PHONE, OTHER = "15551234567", "15557654321"
ID, NEW_ID, PARENT = "US.1001", "US.2002", "US.ENT.3003"
UPDATED = "contact.updated"
# Three days before the messages of the tests.
LONG_AGO = "1794900000"
# The callbacks have fixed times.
pytestmark = pytest.mark.usefixtures("clock", "number")


def contact_of(**ids: str) -> dict[str, Any]:
    """A contact in the format of a callback."""
    profile = {key: ids.pop(key) for key in ("name", "username") if key in ids}
    return ids | {"profile": profile}


def write(wamid: str = "wamid.IN", sender: str | None = PHONE, **changes: Any) -> None:
    """A person writes."""
    contacts = changes.pop("contacts", [])
    message = text(wamid, **changes) | {"from": sender}
    if sender is None:
        del message["from"]
    ingest_now(messages(messages=[message], contacts=contacts))


def told(field: str, *items: dict[str, Any]) -> None:
    """A change in one of the platform's fields about people."""
    value = {"metadata": {"phone_number_id": "1001"}, field: list(items)}
    ingest_now({"id": "2001", "changes": [{"field": field, "value": value}]})


def people() -> list[Contact]:
    """The contacts that were not merged into others."""
    return list(Contact.select().where(Contact.merged_into.is_null()).order_by(Contact.id))


def only() -> Contact:
    """The one contact."""
    [contact] = people()
    return contact


def history(contact: Contact) -> list[tuple[str, str | None, str | None, str]]:
    """The changes without their times."""
    return [(each.field, each.old, each.new, each.because) for each in contact.history()]


def updates() -> list[dict[str, Any]]:
    """The data of each contact.updated."""
    events = Event.select().where(Event.kind == UPDATED).order_by(Event.id)
    return [json.loads(event.payload)["data"] for event in events]


def sent(number: Number, to: str = PHONE, answer: Acceptance | None = None) -> Message:
    """A message that the network accepted."""
    message = factories.outbound(number, to=to)
    with writing():
        return message_status.record_acceptance(message, answer or Acceptance("wamid.1"))


def test_a_message_stores_all_data_of_the_person_in_its_callback() -> None:
    about = contact_of(wa_id=PHONE, user_id=ID, parent_user_id=PARENT, name="Ana", username="ana.b")
    stranger = contact_of(wa_id=OTHER, user_id=NEW_ID, name="Bob")
    write(contacts=[stranger, about], from_user_id=ID)
    contact = only()
    told_of = (
        contact.phone,
        contact.user_id,
        contact.parent_user_id,
        contact.username,
        contact.name,
    )
    assert told_of == (PHONE, ID, PARENT, "ana.b", "Ana")
    [message] = Message.select()
    assert message.contact_id == contact.id
    assert contact.history() == []
    payload = json.loads(Event.get(Event.kind == "message.received").payload)
    assert payload["data"]["contact"] == {
        "phone": PHONE,
        "userId": ID,
        "parentUserId": PARENT,
        "username": "ana.b",
        "name": "Ana",
    }


def test_a_person_without_a_phone_number_is_known_by_the_user_id(number: Number) -> None:
    write(sender=None, from_user_id=ID, contacts=[contact_of(user_id=ID, username="ana.b")])
    assert (only().phone, only().user_id, only().username) == (None, ID, "ana.b")
    [message] = Message.select()
    assert (message.from_number, message.to_number) == (ID, number.phone_number)


def test_an_update_about_a_number_that_is_not_connected_changes_nothing() -> None:
    item = PersonUpdate("9999", Person(phone=PHONE), None, opted_out=True, at=1)
    assert not contacts.apply_update(item)
    assert people() == []


def test_a_message_without_a_person_has_no_contact() -> None:
    write(sender=None)
    assert people() == []
    assert [row.contact_id for row in Message.select()] == [None]


def test_a_phone_number_that_becomes_known_joins_the_person(number: Number) -> None:
    write("wamid.1", sender=None, from_user_id=ID)
    sent(number, answer=Acceptance("wamid.OUT"))
    assert len(people()) == 2, "nothing tells that they are one person"
    write("wamid.2", from_user_id=ID)
    assert (only().phone, only().user_id) == (PHONE, ID)
    assert Message.select().where(Message.contact_id == only().id).count() == 3
    assert [field for field, *_ in history(only())][-1] == "contact"
    assert [each["id"] for each in updates()] == [only().id]


def test_a_person_keeps_the_contact_with_another_phone_number() -> None:
    write("wamid.1", from_user_id=ID)
    write("wamid.2", OTHER, from_user_id=ID)
    assert (only().phone, only().user_id) == (OTHER, ID)
    assert history(only()) == [("phone", PHONE, OTHER, "message")]
    assert [each["phone"] for each in updates()] == [OTHER]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"type": "user_changed_number", "wa_id": OTHER, "user_id": NEW_ID}, (OTHER, NEW_ID)),
        ({"type": "user_changed_number", "wa_id": OTHER}, (OTHER, ID)),
        ({"type": "user_changed_user_id", "user_id": NEW_ID}, (PHONE, NEW_ID)),
    ],
)
def test_a_system_message_tells_of_a_change(
    changes: dict[str, str], expected: tuple[str, str]
) -> None:
    write("wamid.1", from_user_id=ID)
    write("wamid.2", from_user_id=ID, type="system", system=changes | {"body": "Ana changed"})
    contact = only()
    assert (contact.phone, contact.user_id) == expected
    assert {because for *_, because in history(contact)} == {"network"}
    assert len(updates()) == 1
    assert Message.select().where(Message.contact_id == contact.id).count() == 2


def test_an_update_of_a_user_id_keeps_the_person() -> None:
    write(from_user_id=ID)
    told("user_id_update", {"wa_id": PHONE, "user_id": {"previous": ID, "current": NEW_ID}})
    assert (only().phone, only().user_id) == (PHONE, NEW_ID)
    assert history(only()) == [("user_id", ID, NEW_ID, "network")]
    assert [each["userId"] for each in updates()] == [NEW_ID]


def test_a_new_username_is_no_event_but_history() -> None:
    write("wamid.1", from_user_id=ID, contacts=[contact_of(user_id=ID, username="ana.b")])
    write("wamid.2", from_user_id=ID, contacts=[contact_of(user_id=ID, username="ana.c")])
    assert history(only()) == [("username", "ana.b", "ana.c", "message")]
    assert updates() == []


def test_a_phone_number_with_a_new_owner_leaves_the_old_contact() -> None:
    write("wamid.1", from_user_id=ID)
    write("wamid.2", OTHER, from_user_id=NEW_ID)
    write("wamid.3", PHONE, from_user_id=NEW_ID)
    before, after = people()
    assert (before.phone, before.user_id) == (None, ID)
    assert (after.phone, after.user_id) == (PHONE, NEW_ID)


def test_a_phone_number_that_the_network_corrects_leads_to_the_same_person(number: Number) -> None:
    given, real = "5511987654321", "551187654321"
    sent(number, given, Acceptance("wamid.1", wa_id=real))
    assert only().phone == real
    assert history(only()) == [("phone", given, real, "send")]
    sent(number, given, Acceptance("wamid.2", wa_id=real))
    write(sender=real)
    assert Message.select().where(Message.contact_id == only().id).count() == 3
    assert len(updates()) == 1


def test_a_parent_user_id_leads_to_the_same_person(number: Number) -> None:
    sent(number, PARENT, Acceptance("wamid.1", user_id=ID))
    write(sender=None, from_user_id=ID, from_parent_user_id=PARENT)
    assert (only().parent_user_id, only().user_id) == (PARENT, ID)


def test_a_status_tells_who_the_recipient_is(number: Number) -> None:
    sent(number)
    status = status_of("wamid.1", "delivered", recipient_id=PHONE, recipient_user_id=ID)
    other = contact_of(wa_id=OTHER, user_id=NEW_ID)
    about = contact_of(wa_id=PHONE, user_id=ID, username="ana.b")
    ingest_now(messages(statuses=[status], contacts=[other, about]))
    assert (only().user_id, only().username) == (ID, "ana.b")
    assert updates() == []
    delivered = json.loads(Event.get(Event.kind == "message.delivered").payload)
    assert delivered["data"]["contact"]["userId"] == ID


def test_each_number_has_contacts_of_its_own(account: Account) -> None:
    factories.active_number(account, "1002", phone_number="15550002222")
    ingest_now(messages(messages=[text("wamid.1")]), messages("1002", messages=[text("wamid.2")]))
    assert [contact.phone for contact in people()] == [PHONE, PHONE]


def test_a_repeated_callback_changes_nothing() -> None:
    for _ in range(2):
        write("wamid.1", from_user_id=ID)
        write("wamid.2", OTHER, from_user_id=ID)
        told("user_preferences", preference("stop"))
    assert len(history(only())) == 2
    assert len(updates()) == 2


def preference(value: str, **changes: Any) -> dict[str, Any]:
    """A callback about a person's choice of marketing messages."""
    return {"wa_id": OTHER, "category": "marketing_messages", "value": value} | changes


def test_a_person_opts_out_at_the_network_and_in_again() -> None:
    told("user_preferences", preference("stop", timestamp="1795166999"))
    assert (only().opted_out_at, only().opted_out_because) == (1_795_166_999_000, "network")
    told("user_preferences", preference("resume"))
    assert (only().opted_out_at, only().opted_out_because) == (None, None)
    assert [each["optedOut"] for each in updates()] == [True, False]
    assert history(only()) == [
        ("opted_out", "false", "true", "network"),
        ("opted_out", "true", "false", "network"),
    ]


def test_an_older_preference_does_not_change_the_consent() -> None:
    for value, second in (("stop", 1), ("resume", 3), ("stop", 2), ("stop", 5), ("resume", 4)):
        told("user_preferences", preference(value, timestamp=f"179516700{second}"))
    assert only().opted_out_at == 1_795_167_005_000
    assert [each["optedOut"] for each in updates()] == [True, False, True]


def test_a_late_status_does_not_restore_old_identifiers(number: Number) -> None:
    sent(number)
    write("wamid.IN", from_user_id=ID)
    change = {"type": "user_changed_number", "wa_id": OTHER, "user_id": NEW_ID}
    write("wamid.SYS", from_user_id=ID, type="system", system=change)
    status = status_of("wamid.1", "delivered", recipient_id=PHONE, recipient_user_id=ID)
    ingest_now(messages(statuses=[status]))
    assert (only().phone, only().user_id) == (OTHER, NEW_ID)


def old_call(**ids: str) -> dict[str, Any]:
    """A call from before the messages of the tests."""
    call = {"id": "wacid.A", "event": "terminate", "timestamp": LONG_AGO, **ids}
    value = {"metadata": {"phone_number_id": "1001"}, "calls": [call]}
    return {"id": "2001", "changes": [{"field": "calls", "value": value}]}


def old_echo(**ids: str) -> dict[str, Any]:
    """What the owner of the number wrote in the app, before the messages of the tests."""
    message = text(f"wamid.TO{ids['from']}", timestamp=LONG_AGO, to=ids["from"])
    message |= {"to_user_id": ids["from_user_id"], "from": "15550001111"}
    person = contact_of(wa_id=ids["from"], user_id=ids["from_user_id"], name="Old")
    value: dict[str, Any] = {"metadata": {"phone_number_id": "1001"}}
    value |= {"message_echoes": [message], "contacts": [person]}
    return {"id": "2001", "changes": [{"field": "smb_message_echoes", "value": value}]}


def old_preference(**ids: str) -> dict[str, Any]:
    """A choice of marketing messages, from before the messages of the tests."""
    item = {"wa_id": ids["from"], "user_id": ids["from_user_id"], "timestamp": LONG_AGO}
    item |= {"category": "marketing_messages", "value": "resume"}
    value = {"metadata": {"phone_number_id": "1001"}, "user_preferences": [item]}
    return {"id": "2001", "changes": [{"field": "user_preferences", "value": value}]}


@pytest.mark.parametrize("late", [old_call, old_echo, old_preference])
def test_what_comes_late_takes_no_phone_number_from_its_new_owner(late: Any) -> None:
    write("wamid.A", OTHER, from_user_id=ID, contacts=[contact_of(user_id=ID, name="New")])
    write("wamid.B", PHONE, from_user_id=NEW_ID)
    ingest_now(late(**{"from": PHONE, "from_user_id": ID}))
    assert [(each.phone, each.user_id) for each in people()] == [(OTHER, ID), (PHONE, NEW_ID)]
    assert people()[0].name == "New"
    assert updates() == []


@pytest.mark.parametrize("late", [old_call, old_echo])
def test_what_comes_late_fills_only_what_nobody_else_has(late: Any) -> None:
    write("wamid.A", None, from_user_id=ID)
    write("wamid.B", PHONE, from_user_id=NEW_ID)
    ingest_now(late(**{"from": PHONE, "from_user_id": ID}))
    assert [(each.phone, each.user_id) for each in people()] == [(None, ID), (PHONE, NEW_ID)]
    ingest_now(late(**{"from": OTHER, "from_user_id": ID}))
    assert [(each.phone, each.user_id) for each in people()] == [(OTHER, ID), (PHONE, NEW_ID)]


def test_a_late_change_of_the_user_id_brings_no_old_phone_number_back() -> None:
    write("wamid.A", OTHER, from_user_id=ID)
    change = {"wa_id": PHONE, "user_id": {"previous": ID, "current": NEW_ID}}
    told("user_id_update", change | {"timestamp": LONG_AGO})
    assert (only().phone, only().user_id) == (OTHER, NEW_ID)


def test_a_status_makes_no_two_people_one(number: Number) -> None:
    sent(number)
    write("wamid.A", PHONE, from_user_id=ID)
    write("wamid.B", OTHER, from_user_id=NEW_ID)
    status = status_of("wamid.1", "delivered", recipient_id=PHONE, recipient_user_id=NEW_ID)
    ingest_now(messages(statuses=[status]))
    assert {(each.phone, each.user_id) for each in people()} == {(PHONE, ID), (OTHER, NEW_ID)}


def test_an_opt_out_that_comes_with_a_repeated_failure_counts(number: Number) -> None:
    message = sent(number)
    with writing():
        message.advance(MessageStatus.FAILED, at=1, error=("1", "x"))
    error = {"code": 131050, "title": "User has stopped marketing messages"}
    ingest_now(messages(statuses=[status_of("wamid.1", "failed", errors=[error])]))
    assert only().opted_out_because == "error"


def test_a_system_message_of_an_odd_type_is_a_message() -> None:
    write(type="system", system={"type": ["x"]})
    assert Message.select().count() == 1


@pytest.mark.parametrize("change", [{"category": "everything"}, {"value": "perhaps"}])
def test_another_preference_is_a_notice(change: dict[str, str]) -> None:
    told("user_preferences", preference("stop") | change)
    assert people() == []


@pytest.mark.parametrize("word", ["STOP", "stop", " Stop\n"])
def test_a_word_of_the_account_opts_out(account: Account, word: str) -> None:
    account.set_opt_words(stop=["stop"], start=["START"])
    write("wamid.1", text={"body": word})
    assert only().opted_out_because == "word"
    write("wamid.2", text={"body": "start"})
    assert only().opted_out_at is None
    assert kinds().count(UPDATED) == 2
    assert kinds().count("message.received") == 2


def test_the_built_in_words_are_on_and_the_account_can_turn_them_off(account: Account) -> None:
    write("wamid.1", text={"body": "STOP"})
    assert only().opted_out_because == "word"
    write("wamid.2", text={"body": "Start"})
    assert not only().is_out
    account.set_consent(ConsentScope.ACCOUNT, [], None)
    write("wamid.3", text={"body": "STOP"})
    assert not only().is_out


def test_the_words_are_in_the_languages_of_the_account(account: Account, number: Number) -> None:
    write("wamid.1", text={"body": "Abmelden"})
    assert not only().is_out
    fake_templates.known(number, fake_templates.definition("sale", "de_AT"))
    write("wamid.2", text={"body": "Abmelden"})
    assert only().is_out
    write("wamid.3", text={"body": "start"})
    account.set_consent(ConsentScope.ACCOUNT, ["pt"], None)
    write("wamid.4", text={"body": "abmelden"})
    assert not only().is_out
    write("wamid.5", text={"body": "sair"})
    assert only().is_out
    write("wamid.6", text={"body": "START"})
    assert not only().is_out


def test_an_own_word_counts_before_a_built_in_one(account: Account) -> None:
    account.set_opt_words(stop=["start"], start=["stop"])
    write("wamid.1", text={"body": "start"})
    assert only().is_out
    write("wamid.2", text={"body": "stop"})
    assert not only().is_out


REPLY = {"type": "button_reply", "button_reply": {"id": "b1", "title": "Stop."}}
ROW = {"type": "list_reply", "list_reply": {"id": "STOP", "title": "No more offers"}}


def _reply(**button: str) -> dict[str, Any]:
    return {"type": "button_reply", "button_reply": button}


@pytest.mark.parametrize(
    "chosen",
    [
        {"type": "button", "button": {"text": "STOP!", "payload": "p1"}},
        {"type": "button", "button": {"text": "No more offers", "payload": "stop"}},
        {"type": "interactive", "interactive": REPLY},
        {"type": "interactive", "interactive": ROW},
    ],
)
def test_a_button_or_row_opts_out_by_its_text_or_identifier(chosen: dict[str, Any]) -> None:
    write("wamid.1", **chosen)
    assert only().opted_out_because == "word"


@pytest.mark.parametrize(
    ("chosen", "is_in"),
    [
        ({"type": "button", "button": {"text": "Start", "payload": "p1"}}, True),
        ({"type": "button", "button": {"text": "Begin the quiz", "payload": "start"}}, False),
        ({"type": "interactive", "interactive": _reply(id="b1", title="START")}, True),
        ({"type": "interactive", "interactive": _reply(id="start", title="Begin")}, False),
    ],
)
def test_a_button_opts_in_only_by_the_text_that_the_person_sees(
    chosen: dict[str, Any], *, is_in: bool
) -> None:
    write("wamid.1", text={"body": "STOP"})
    write("wamid.2", **chosen)
    assert only().is_out == (not is_in)


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "button", "button": {"text": 5}},
        {"type": "button", "button": "STOP"},
        {"type": "interactive", "interactive": {"type": ["button_reply"]}},
        {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": "STOP"}},
        {"type": "interactive", "interactive": {"type": "nfm_reply", "title": "STOP"}},
        {"type": "image", "image": {"body": "STOP"}},
    ],
)
def test_a_message_without_words_opts_nobody_out(odd: dict[str, Any]) -> None:
    write("wamid.1", **odd)
    assert not only().is_out
    assert Message.select().count() == 1


def test_a_longer_text_with_the_word_is_a_message(account: Account) -> None:
    account.set_opt_words(stop=["stop"], start=[])
    write("wamid.1", text={"body": "Where does the bus stop?"})
    assert only().opted_out_at is None


def test_the_network_refuses_marketing_to_somebody_who_opted_out(number: Number) -> None:
    sent(number)
    error = {"code": 131050, "title": "User has stopped marketing messages"}
    ingest_now(messages(statuses=[status_of("wamid.1", "failed", errors=[error])]))
    assert only().opted_out_because == "error"
    assert kinds() == ["message.sent", UPDATED, "message.failed"]


def test_a_reply_names_the_message_that_it_replies_to(number: Number) -> None:
    message = sent(number)
    write("wamid.IN", context={"id": "wamid.1", "from": number.phone_number})
    write("wamid.2", context={"id": "wamid.UNKNOWN"})
    events = Event.select().where(Event.kind == "message.received").order_by(Event.id)
    contexts = [json.loads(event.payload)["data"]["context"] for event in events]
    assert contexts == [
        {"messageId": message.id, "waMessageId": "wamid.1"},
        {"messageId": None, "waMessageId": "wamid.UNKNOWN"},
    ]


def test_time_does_not_run_backwards_in_a_conversation() -> None:
    for wamid, at in (("wamid.1", "05"), ("wamid.2", "01"), ("wamid.3", "09")):
        write(wamid, timestamp=f"17951670{at}")
    write("wamid.4", OTHER, timestamp="1795167001")
    times = [message.created_at // 1000 for message in Message.select().order_by(Message.id)]
    assert times == [1_795_167_005, 1_795_167_005, 1_795_167_009, 1_795_167_001]


def test_an_older_message_or_status_changes_no_name_and_no_identifier_of_a_person(
    number: Number,
) -> None:
    now = clock.now() // 1000
    person = {"wa_id": PHONE, "user_id": NEW_ID}
    write("wamid.2", timestamp=str(now), contacts=[contact_of(name="New", **person)])
    earlier = {"wa_id": PHONE, "user_id": ID}
    older = contact_of(name="Old", username="ana", **earlier)
    write("wamid.1", timestamp=str(now - 60), contacts=[older])
    assert (only().name, only().user_id, only().username) == ("New", NEW_ID, "ana")
    sent = factories.outbound(number, PHONE)
    status = status_of("wamid.3", "sent", timestamp=str(now - 60), recipient_id=PHONE)
    named = [contact_of(name="Old", wa_id=PHONE)]
    ingest_now(messages(statuses=[status | {"biz_opaque_callback_data": sent.id}], contacts=named))
    assert only().name == "New"
    write("wamid.4", timestamp=str(now + 60), contacts=[contact_of(name="Newest", **person)])
    assert (only().name, only().user_id) == ("Newest", NEW_ID)


def test_a_number_that_a_send_corrected_is_none_that_the_person_gave_up(number: Number) -> None:
    with writing():
        contact = Contact.of_recipient(number, "5511987654321")
        contacts.learn(contact, {"phone": "551187654321"}, Source.SEND, clock.now())
        assert Contact.former([contact]) == {}
        assert Contact.of_recipient(number, "5511987654321").id == contact.id


def test_a_number_that_a_send_corrected_leads_to_a_person_who_has_it_since(number: Number) -> None:
    given, real = "5511987654321", "551187654321"
    with writing():
        contact = Contact.of_recipient(number, given)
        contacts.learn(contact, {"phone": real, "user_id": "US.1"}, Source.SEND, clock.now())
        other = factories.contact(number, user_id="US.2")
        contacts.learn(other, {"phone": given}, Source.MESSAGE, clock.now())
        assert Contact.of_recipient(number, given).id == other.id
        assert Contact.of_recipient(number, real).id == contact.id

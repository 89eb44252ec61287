"""What the owner of a number does in the network's app: messages, history and names of contacts."""

import json
from typing import Any

import orjson
import pytest

from handlers.contacts import get_contact
from handlers.messages import get_message, list_messages
from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages import search
from models.messages.callback import Callback, Reason, SetAside
from models.messages.contact import IS_PERSON, Contact
from models.messages.erasure import Erasure
from models.messages.message import Direction, Message
from models.messages.message_filter import MessageFilter
from models.messages.opt_out_answer import OptOutAnswer
from models.numbers.number import Number
from models.reports.usage import UsageTotal
from services import applying, ingestion
from tasks import ingest
from tests import factories
from tests.conftest import Clock, Configure
from tests.tasks.callbacks import (
    accepted_message,
    ingest_again,
    ingest_now,
    kinds,
    messages,
    refusing_text,
    status_of,
    store,
    text,
)

PERSON, OURS = "15551234567", "15550001111"
DAY = 24 * 3600


def app(field: str, **members: Any) -> dict[str, Any]:
    """An entry with a field of the app."""
    metadata = {"phone_number_id": "1001", "display_phone_number": OURS}
    return {"id": "2001", "changes": [{"field": field, "value": {"metadata": metadata, **members}}]}


def echoed(wamid: str = "wamid.E", **changes: Any) -> None:
    """The owner writes in the app."""
    told = text(wamid, **{"from": OURS, "to": PERSON}) | changes
    ingest_now(app("smb_message_echoes", message_echoes=[told]))


def chunk(clock: Clock, *ages: int, **changes: Any) -> dict[str, Any]:
    """History of messages of these ages in seconds, of the person and the owner in turn."""
    told = []
    for number, age in enumerate(ages):
        ours = {"from": OURS, "history_context": {"status": "READ"}}
        one = text(f"wamid.H{number}", timestamp=str(clock.at // 1000 - age))
        told.append(one | {"text": {"body": f"Old {number}"}} | (ours if number % 2 else {}))
    thread = {"id": PERSON, "messages": [each | changes for each in told]}
    return app("history", history=[{"metadata": {"phase": 0}, "threads": [thread]}])


def saved(name: str | None, at: int, phone: str = PERSON) -> None:
    """The owner saves a name, or removes it."""
    contact = {"full_name": name or "", "phone_number": phone}
    told = {"type": "contact", "contact": contact, "action": "add" if name else "remove"}
    state = told | {"metadata": {"timestamp": str(at)}}
    ingest_now(app("smb_app_state_sync", state_sync=[state]))


def shown(number: Number, wamid: str) -> dict[str, Any]:
    """The message as the API shows it."""
    message = Message.get(Message.wa_message_id == wamid)
    found: dict[str, Any] = orjson.loads(orjson.dumps(get_message(number.account_id, message.id)))
    return found


@pytest.mark.usefixtures("clock")
def test_an_echo_is_an_outbound_message_of_the_app_with_its_event(number: Number) -> None:
    factories.webhook(Account.get_by_id(number.account_id), events=["message.echoed"])
    echoed()
    echoed()
    assert kinds() == ["message.echoed"]
    assert Delivery.select().count() == 1
    message = shown(number, "wamid.E")
    ends = (message["direction"], message["fromNumber"], message["toNumber"])
    assert ends == ("OUTBOUND", OURS, PERSON)
    assert (message["origin"], message["status"]) == ("APP", "sent")
    assert message["contact"]["phone"] == PERSON
    assert [step["status"] for step in message["statusHistory"]] == ["sent"]
    told = json.loads(Event.get().payload)["data"]
    assert told == {key: message[key] for key in told}


def test_an_echo_can_be_delivered_edited_and_deleted(number: Number) -> None:
    echoed()
    ingest_now(messages(statuses=[status_of("wamid.E", "delivered")]))
    new = {"original_message_id": "wamid.E", "message": {"type": "text", "text": {"body": "No"}}}
    echoed("wamid.F", type="edit", edit=new)
    assert shown(number, "wamid.E")["status"] == "delivered"
    assert shown(number, "wamid.E")["editedAt"] is not None
    echoed("wamid.G", type="revoke", revoke={"original_message_id": "wamid.E"})
    assert shown(number, "wamid.E")["body"] == {}


@pytest.mark.parametrize("order", ["AEFD", "DAEF", "EAFD", "EFDA", "EDFA"])
def test_a_deletion_in_a_group_removes_all_edits(number: Number, order: str) -> None:
    about = {"original_message_id": "wamid.A"}
    new = {"type": "text", "text": {"body": "Secret"}}
    told: dict[str, dict[str, Any]] = {
        "A": {"text": {"body": "Secret"}},
        "E": {"type": "edit", "edit": about | {"message": new}},
        "F": {"type": "edit", "edit": about | {"message": new}},
        "D": {"type": "revoke", "revoke": about},
    }
    echoed("wamid.O", type="edit", edit=about | {"message": new}, to="another", group_id="another")
    for name in order:
        echoed(f"wamid.{name}", **{"to": "Y2FwaQ", "group_id": "Y2FwaQ"} | told[name])
    assert [shown(number, f"wamid.{name}")["body"] for name in "AEF"] == [{}] * 3
    assert "Secret" in str(shown(number, "wamid.O")["body"])


def test_messages_name_their_origin(number: Number) -> None:
    ingest_now(messages(messages=[text()]))
    assert shown(number, "wamid.IN")["origin"] is None
    factories.outbound(number)
    sent = Message.get(Message.status == "pending")
    found: Any = orjson.loads(orjson.dumps(get_message(number.account_id, sent.id)))
    assert found["origin"] == "API"


def test_echoes_are_not_counted_as_messages_but_as_bytes(number: Number) -> None:
    echoed()
    [usage] = UsageTotal.select()
    assert (usage.account_id, usage.total, usage.size > 0) == (number.account_id, 0, True)


def test_history_is_stored_in_its_place_and_emits_nothing(number: Number, clock: Clock) -> None:
    factories.webhook(Account.get_by_id(number.account_id))
    ingest_now(messages(messages=[text("wamid.NEW")]))
    ingest_now(chunk(clock, 20 * DAY, 10 * DAY, 5))
    ingest_now(chunk(clock, 20 * DAY, 10 * DAY, 5))
    assert kinds() == ["message.received"]
    rows = Message.select(Message.wa_message_id).order_by(Message.id)
    assert [row.wa_message_id for row in rows] == ["wamid.H0", "wamid.H1", "wamid.H2", "wamid.NEW"]
    first, second = shown(number, "wamid.H0"), shown(number, "wamid.H1")
    assert (first["direction"], first["status"]) == ("INBOUND", "received")
    assert (second["direction"], second["status"]) == ("OUTBOUND", "read")
    assert {first["origin"], second["origin"]} == {"HISTORY"}
    assert first["createdAt"] == first["networkTimestamp"] == "2026-10-31T09:30:00.000Z"
    assert [step["status"] for step in second["statusHistory"]] == ["sent", "read"]
    assert SetAside.select().count() == 0


def test_history_opens_no_window_and_is_not_counted(number: Number, clock: Clock) -> None:
    ingest_now(chunk(clock, 60))
    [contact] = Contact.select()
    found = get_contact(number.account_id, contact.id)
    assert (found["lastInboundAt"] is None, found["windowOpenUntil"]) == (False, None)
    assert UsageTotal.select().count() == 0


def test_history_is_found_by_its_words_at_once_and_when_newer_messages_are_indexed(
    number: Number, clock: Clock
) -> None:
    for wamid in ("wamid.A", "wamid.B"):
        ingest_now(messages(messages=[text(wamid, text={"body": "Old and new"})]))
        clock.advance(minutes=1)
    search.add(clock.at, clock.at, 10)
    ingest_now(chunk(clock, 90, 2 * DAY, 3 * DAY))
    found = search.find(number.account_id, ["old"], 10).rows
    expected = ["wamid.B", "wamid.H0", "wamid.A", "wamid.H1", "wamid.H2"]
    assert [row.wa_message_id for row in found] == expected
    assert search.find(number.account_id, ["old"], 3).rows == found[:3]
    after = search.find(number.account_id, ["old"], 10, before=found[2].id).rows
    assert [row.wa_message_id for row in after] == expected[3:]


def test_a_message_that_the_history_told_first_is_received_once_and_counts(
    number: Number, clock: Clock
) -> None:
    ingest_now(chunk(clock, 5, type="media_placeholder", text=None))
    clock.advance(seconds=20)
    live = text("wamid.H0", timestamp=str(clock.at // 1000 - 25), text={"body": "STOP"})
    for _ in range(2):
        ingest_now(messages(messages=[live]))
    assert kinds() == ["contact.updated", "message.received"]
    message, [contact] = shown(number, "wamid.H0"), Contact.select()
    assert (message["origin"], message["body"]) == (None, {"body": "STOP"})
    assert message["createdAt"] == message["networkTimestamp"] == "2026-11-20T09:29:55.000Z"
    assert contact.opted_out_because == "word"
    assert get_contact(number.account_id, contact.id)["windowOpenUntil"] is not None
    assert [usage.total for usage in UsageTotal.select()] == [1]


def test_a_message_that_the_history_told_first_opens_the_window_at_its_own_time(
    number: Number, clock: Clock
) -> None:
    now = clock.at // 1000
    # It comes late, so its identifier is later than that of the next one.
    ingest_now(messages(messages=[text("wamid.LATE", timestamp=str(now - 600))]))
    ingest_now(chunk(clock, 300))
    ingest_now(messages(messages=[text("wamid.H0", timestamp=str(now - 300))]))
    ingest_now(messages(messages=[text("wamid.OLD", timestamp=str(now - 500))]))
    [contact] = Contact.select().where(Contact.number == number.id)
    assert (
        contact.window_opened_at()
        == contact.last_message_at(Direction.INBOUND)
        == (now - 300) * 1000
    )


def test_an_edit_that_the_history_told_first_has_its_events(number: Number, clock: Clock) -> None:
    new = {"original_message_id": "wamid.A", "message": {"type": "text", "text": {"body": "No"}}}
    ingest_now(messages(messages=[text("wamid.A")]))
    ingest_now(chunk(clock, 5, type="edit", edit=new, text=None))
    ingest_now(messages(messages=[text("wamid.H0", type="edit", edit=new, text=None)]))
    assert kinds() == ["message.received"] * 2 + ["message.edited"]
    assert shown(number, "wamid.A")["editId"] == shown(number, "wamid.H0")["id"]


def test_an_echo_that_the_history_told_first_has_its_event(number: Number, clock: Clock) -> None:
    ingest_now(chunk(clock, 5, **{"from": OURS}))
    for _ in range(2):
        echoed("wamid.H0")
    assert kinds() == ["message.echoed"]
    assert shown(number, "wamid.H0")["origin"] == "APP"
    [usage] = UsageTotal.select()
    assert (usage.total, usage.size > 0) == (0, True)


def test_an_echo_of_a_message_that_the_api_sent_changes_nothing(number: Number) -> None:
    accepted_message(number, "wamid.OUT")
    before = kinds()
    echoed("wamid.OUT", text={"body": "Other"})
    assert (shown(number, "wamid.OUT")["origin"], kinds()) == ("API", before)


def test_a_deletion_that_arrives_before_its_echo_or_its_history_removes_the_content(
    number: Number, clock: Clock
) -> None:
    for wamid in ("wamid.A", "wamid.H0"):
        echoed(f"{wamid}.D", type="revoke", revoke={"original_message_id": wamid}, text=None)
    echoed("wamid.A")
    ingest_now(chunk(clock, 60, **{"from": OURS}))
    for wamid in ("wamid.A", "wamid.H0"):
        found = shown(number, wamid)
        assert (found["body"], found["deletedAt"] is None) == ({}, False)


def test_words_of_the_history_hold_from_their_own_time_and_get_no_answer(
    number: Number, clock: Clock
) -> None:
    with writing():
        Account.update(stop_answer="You get no more offers.").execute()
    ingest_now(chunk(clock, 2 * DAY, text={"body": "STOP"}))
    [contact] = Contact.select()
    assert (contact.opted_out_at, kinds()) == (clock.at - 2 * DAY * 1000, ["contact.updated"])
    assert OptOutAnswer.select().count() == 0
    older = {"text": {"body": "START"}, "timestamp": str(clock.at // 1000 - 3 * DAY)}
    ingest_now(messages(messages=[text("wamid.O", **older)]))
    assert Contact.get().is_out
    ingest_now(messages(messages=[text("wamid.N", text={"body": "START"})]))
    ingest_now(app("history", history=[_said("wamid.P", "STOP", clock.at // 1000 - DAY)]))
    assert not Contact.get().is_out
    assert number.account_id == contact.account_id


def test_the_words_of_the_owner_in_the_history_opt_nobody_out(clock: Clock, number: Number) -> None:
    ingest_now(chunk(clock, DAY, text={"body": "STOP"}, **{"from": OURS}))
    assert [each.is_out for each in Contact.select()] == [False]
    assert shown(number, "wamid.H0")["direction"] == "OUTBOUND"


def _said(wamid: str, words: str, at: int) -> dict[str, Any]:
    """A chunk of history with a text of the person."""
    told = text(wamid, text={"body": words}, timestamp=str(at))
    return {"threads": [{"id": PERSON, "messages": [told]}]}


def test_an_echo_that_comes_late_is_in_its_place_in_lists_and_in_the_search(
    number: Number, clock: Clock
) -> None:
    late = {"timestamp": str(clock.at // 1000 - 600), "text": {"body": "Late news"}}
    for minutes in range(2):
        ingest_now(messages(messages=[text(f"wamid.{minutes}", text={"body": "News"})]))
        clock.advance(minutes=1)
    search.add(clock.at, clock.at, 10)
    echoed("wamid.L", **late)
    found = search.find(number.account_id, ["news"], 10).rows
    assert [row.wa_message_id for row in found] == ["wamid.1", "wamid.0", "wamid.L"]
    until = clock.at - 300_000
    for status in (None, "sent"):
        listed = MessageFilter(status=status, until=until).page(number.account_id, 20, 0)
        assert [row.wa_message_id for row in listed.rows] == ["wamid.L"]


def test_a_message_that_left_the_history_is_found_by_its_words(
    number: Number, clock: Clock
) -> None:
    clock.advance(minutes=1)
    ingest_now(messages(messages=[text("wamid.A", text={"body": "News"})]))
    clock.advance(minutes=1)
    search.add(clock.at, clock.at, 10)
    ingest_now(chunk(clock, 3600, text={"body": "Old news"}))
    ingest_now(messages(messages=[text("wamid.H0", text={"body": "Old news"})]))
    found = search.find(number.account_id, ["news"], 10).rows
    assert [row.wa_message_id for row in found] == ["wamid.A", "wamid.H0"]


def test_history_older_than_messages_are_kept_is_not_stored(
    number: Number, clock: Clock, configure: Configure
) -> None:
    configure(RETENTION_DAYS="30")
    ingest_now(chunk(clock, 31 * DAY, 29 * DAY))
    listed: Any = list_messages(number.account_id, 20, 0)
    assert listed is not None
    assert [row.wa_message_id for row in Message.select()] == ["wamid.H1"]


@pytest.mark.usefixtures("number")
@pytest.mark.parametrize("most", [2, 3])
def test_much_history_is_ingested_in_parts(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(ingest, "MOST_PARTS", most)
    stored = store(chunk(clock, 90, 60, 30))
    with refusing_text("Old 1"):
        ingest.work_off()
        ingest.work_off()
    assert [row.wa_message_id for row in Message.select()] == ["wamid.H0", "wamid.H2"]
    [left] = Callback.select()
    assert (left.id == stored.id, b"Old 0" in bytes(left.body)) == (most == 3, most == 3)
    assert left.received_at == stored.received_at
    ingest_again()
    assert Message.select().count() == 3
    assert Callback.select().count() == 0


@pytest.mark.usefixtures("number")
def test_old_history_is_a_replay_unless_the_number_was_just_connected(clock: Clock) -> None:
    clock.at += applying.MOST_AGE_MS + 1
    ingest_now(chunk(clock, 20 * DAY, 60))
    assert [row.wa_message_id for row in Message.select()] == ["wamid.H1"]
    [aside] = SetAside.select()
    assert aside.reason == Reason.TOO_OLD
    saved("Ana", clock.at // 1000 - 20 * DAY)
    assert Contact.select().where(Contact.saved_name.is_null(is_null=False)).count() == 0
    Number.update(activated_at=clock.at).execute()
    assert ingestion.replay(aside)
    saved("Ana", clock.at // 1000 - 20 * DAY)
    assert [row.saved_name for row in Contact.select()] == ["Ana"]
    assert Message.select().count() == 2
    echoed("wamid.OLD", timestamp=str(clock.at // 1000 - 20 * DAY))
    assert Message.select().count() == 2


def test_history_that_waits_during_an_erasure_brings_nobody_back(
    number: Number, clock: Clock
) -> None:
    contact = factories.contact(number, phone=PERSON)
    stored = store(chunk(clock, 60), app("smb_message_echoes", message_echoes=[]))
    clock.advance(seconds=1)
    Erasure.begin(contact)
    ingestion.ingest_together(ingestion.read([stored]), are_stored=True)
    assert Message.select().count() == Contact.select().count() == 0
    assert number.phone_number == OURS


def test_the_file_of_a_placeholder_takes_its_place(number: Number, clock: Clock) -> None:
    for _ in range(2):
        ingest_now(chunk(clock, 60, type="media_placeholder", text=None))
    image = {"id": "M1", "mime_type": "image/jpeg"}
    ingest_now(chunk(clock, 60, type="image", image=image, text=None))
    message = shown(number, "wamid.H0")
    assert (message["type"], message["body"]["id"]) == ("image", "M1")
    ingest_now(chunk(clock, 60, type="image", image=image | {"id": "M2"}, text=None))
    assert shown(number, "wamid.H0")["body"]["id"] == "M1"


def test_a_name_of_the_app_is_stored_with_its_source_and_removed(
    number: Number, clock: Clock
) -> None:
    at = clock.at // 1000
    saved("Ana B.", at)
    [contact] = Contact.select()
    assert kinds() == [], "a new contact has no event"
    ingest_now(messages(messages=[text()], contacts=[{"wa_id": PERSON, "profile": {"name": "A"}}]))
    found = get_contact(number.account_id, contact.id)
    assert (found["name"], found["savedName"]) == ("A", "Ana B.")
    assert found["history"][0] | {"at": ""} == {
        "field": "savedName",
        "old": None,
        "new": "Ana B.",
        "because": "app",
        "at": "",
    }
    saved("Older", at - 5)
    saved(None, at + 5)
    saved(None, at + 6)
    assert kinds() == ["message.received", "contact.updated"]
    assert get_contact(number.account_id, contact.id)["savedName"] is None


def test_removing_the_name_of_a_stranger_makes_no_contact(number: Number, clock: Clock) -> None:
    saved(None, clock.at // 1000)
    assert Contact.select().where(Contact.number == number.id, IS_PERSON).count() == 0
    assert PERSON not in str([row.__data__ for row in Contact.select()])


@pytest.mark.usefixtures("account", "clock")
def test_what_the_app_sends_for_an_unknown_number_is_set_aside() -> None:
    echoed()
    assert [row.reason for row in SetAside.select()] == [Reason.FOREIGN_NUMBER]

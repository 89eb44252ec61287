"""Edits and deletions of people: the earlier message is marked, and each has an event of its own."""

import json
from typing import Any

import orjson
import pytest
from peewee import Cast

from handlers.messages import get_message
from models.database import writing
from models.deliveries.event import Event
from models.messages import search
from models.messages.contact import Contact
from models.messages.message import Message
from models.numbers.number import Number
from tests.conftest import Clock
from tests.tasks.callbacks import accepted_message, ingest_now, kinds, messages, status_of, text

pytestmark = pytest.mark.usefixtures("clock")
OTHER = "15557654321"


def edit(wamid: str, of: str = "wamid.IN", words: str = "Hi Ana", **changes: Any) -> dict[str, Any]:
    """An edit of a text."""
    new = {"type": "text", "text": {"body": words}}
    return _about(wamid, "edit", {"original_message_id": of, "message": new}, changes)


def deletion(wamid: str, of: str = "wamid.IN", **changes: Any) -> dict[str, Any]:
    """A deletion for everyone."""
    return _about(wamid, "revoke", {"original_message_id": of}, changes)


def _about(
    wamid: str, type_: str, content: dict[str, Any], changes: dict[str, Any]
) -> dict[str, Any]:
    message = text(wamid, type=type_, **{type_: content}) | changes
    del message["text"]
    return message


def written(*items: dict[str, Any]) -> None:
    """People write these, one callback each."""
    for item in items:
        ingest_now(messages(messages=[item]))


def stored(wamid: str = "wamid.IN") -> Message:
    """The message with this network identifier."""
    return Message.get(Message.wa_message_id == wamid)


def shown(number: Number, wamid: str = "wamid.IN") -> dict[str, Any]:
    """The message as the API shows it."""
    response: Any = get_message(number.account_id, stored(wamid).id)
    found: dict[str, Any] = orjson.loads(orjson.dumps(response))
    return found


def is_out() -> bool:
    """Whether the only person is opted out."""
    [contact] = Contact.select()
    return bool(contact.is_out)


@pytest.mark.parametrize(("words", "is_word"), [("STOP", True), ("Don't stop", False)])
def test_a_person_opts_out_by_the_words_of_an_edit(
    number: Number, words: str, *, is_word: bool
) -> None:
    assert number.status == "ACTIVE"
    written(text("wamid.IN"), edit("wamid.E1", words=words))
    assert is_out() == is_word
    written(edit("wamid.E2", words="START"))
    assert not is_out()


@pytest.mark.parametrize("new", ["STOP", {"type": "text", "text": "STOP"}, {"type": []}, None])
def test_an_odd_edit_opts_nobody_out(number: Number, new: Any) -> None:
    assert number.status == "ACTIVE"
    written(text("wamid.IN"), edit("wamid.E", edit={"message": new}))
    assert not is_out()


def told(kind: str) -> list[dict[str, Any]]:
    """The data of the events of a kind."""
    events = Event.select().where(Event.kind == kind).order_by(Event.id)
    return [json.loads(event.payload)["data"] for event in events]


def test_an_edit_marks_the_message_and_leads_to_the_new_content(
    number: Number, clock: Clock
) -> None:
    written(text())
    assert [shown(number)[name] for name in ("editedAt", "editId", "deletedAt")] == [None] * 3
    clock.advance(minutes=1)
    written(edit("wamid.E"))
    original, change = shown(number), shown(number, "wamid.E")
    assert original["body"] == {"body": "Hi"}
    assert (original["editedAt"], original["editId"]) == (change["createdAt"], change["id"])
    assert change["body"]["message"]["text"] == {"body": "Hi Ana"}
    assert change["context"] == {"messageId": original["id"], "waMessageId": "wamid.IN"}


def test_each_edit_has_an_event_of_its_own_and_is_received_too(number: Number) -> None:
    written(text(), edit("wamid.E"), edit("wamid.F"))
    assert kinds() == ["message.received", *["message.received", "message.edited"] * 2]
    edits = told("message.edited")
    assert [each["waMessageId"] for each in edits] == ["wamid.E", "wamid.F"]
    assert {each["context"]["messageId"] for each in edits} == {stored().id}
    assert edits == told("message.received")[1:]
    assert shown(number)["editId"] == stored("wamid.F").id


def test_an_edit_that_arrives_late_does_not_replace_a_later_one(number: Number) -> None:
    later = text()["timestamp"]
    written(text(), edit("wamid.F", timestamp=str(int(later) + 60)), edit("wamid.E"))
    assert shown(number)["editId"] == stored("wamid.F").id


def test_a_deletion_marks_the_message_and_removes_its_content_and_that_of_its_edits(
    number: Number,
) -> None:
    written(text(), edit("wamid.E", words="Secret"), text("wamid.R", context={"id": "wamid.IN"}))
    written(deletion("wamid.D"))
    original = shown(number)
    assert original["deletedAt"] == shown(number, "wamid.D")["createdAt"]
    assert (original["body"], shown(number, "wamid.E")["body"]) == ({}, {})
    assert shown(number, "wamid.R")["body"]["body"] == "Hi"
    [event] = told("message.deleted")
    assert event["context"] == {"messageId": original["id"], "waMessageId": "wamid.IN"}


def test_what_arrives_after_a_deletion_brings_nothing_back(number: Number, clock: Clock) -> None:
    written(text(), text("wamid.B"), edit("wamid.C", of="wamid.B"), deletion("wamid.D"))
    deleted_at = shown(number)["deletedAt"]
    clock.advance(minutes=1)
    written(edit("wamid.E", words="Secret"))
    assert shown(number, "wamid.E")["body"] == told("message.edited")[-1]["body"] == {}
    written(deletion("wamid.F"))
    assert shown(number)["deletedAt"] == deleted_at
    assert shown(number, "wamid.C")["body"] != {}


def test_a_deleted_text_is_found_no_longer(number: Number, clock: Clock) -> None:
    written(text(text={"body": "Secret plan"}), text("wamid.B"))
    clock.advance(minutes=1)
    search.add(clock.at, clock.at, 10)

    def found() -> list[str]:
        return [row.id for row in search.find(number.account_id, ["secret"], 10).rows]

    def is_indexed() -> bool:
        words = Cast(search.SearchWords.words, "text")
        return bool(search.SearchWords.select().where(words.contains("secret")).exists())

    assert (found(), is_indexed()) == ([stored().id], True)
    written(deletion("wamid.D"))
    assert (found(), is_indexed()) == ([], False)


def test_a_correction_of_an_unknown_message_is_stored_with_its_event(number: Number) -> None:
    written(edit("wamid.E", of="wamid.OLD"), deletion("wamid.D", of="wamid.OLD"))
    assert kinds() == [
        *("message.received", "message.edited"),
        *("message.received", "message.deleted"),
    ]
    assert shown(number, "wamid.D")["context"] == {"messageId": None, "waMessageId": "wamid.OLD"}
    assert shown(number, "wamid.E")["body"] == {}


def test_an_edit_that_arrives_after_the_deletion_of_an_unknown_message_has_no_content(
    number: Number,
) -> None:
    written(deletion("wamid.D", of="wamid.OLD"), edit("wamid.E", of="wamid.OLD", words="Secret"))
    written(edit("wamid.F", of="wamid.OLD", **{"from": OTHER}), edit("wamid.G", of="wamid.OTHER"))
    assert shown(number, "wamid.E")["body"] == {}
    assert told("message.edited")[0]["body"] == told("message.received")[1]["body"] == {}
    assert {} not in [shown(number, f"wamid.{name}")["body"] for name in "FG"]


def test_corrections_that_arrive_before_their_message_have_their_effect(number: Number) -> None:
    written(edit("wamid.E", words="Secret"), text())
    original = shown(number)
    assert original["editId"] == stored("wamid.E").id
    assert shown(number, "wamid.E")["context"]["messageId"] == original["id"]
    later = edit("wamid.F", of="wamid.B", words="Secret")
    written(deletion("wamid.D", of="wamid.B"), later, text("wamid.B", text={"body": "Secret"}))
    original = shown(number, "wamid.B")
    assert (original["body"], shown(number, "wamid.F")["body"]) == ({}, {})
    assert original["deletedAt"] == shown(number, "wamid.D")["createdAt"]
    received = told("message.received")[-1]
    assert (received["waMessageId"], received["body"]) == ("wamid.B", {})
    assert received["deletedAt"] == original["deletedAt"]


def test_nobody_corrects_messages_of_others_before_they_arrive(number: Number) -> None:
    others = {"from": OTHER}
    written(edit("wamid.E", **others), deletion("wamid.D", **others), text())
    found = shown(number)
    assert (found["editId"], found["deletedAt"], found["body"]) == (None, None, {"body": "Hi"})


def test_people_correct_only_their_own_messages(number: Number) -> None:
    accepted_message(number, "wamid.OUT")
    written(text(), edit("wamid.E", **{"from": OTHER}), deletion("wamid.D", **{"from": OTHER}))
    written(edit("wamid.F", of="wamid.OUT"), deletion("wamid.G", of="wamid.OUT"))
    for wamid in ("wamid.IN", "wamid.OUT"):
        found = shown(number, wamid)
        assert (found["editedAt"], found["deletedAt"]) == (None, None)
        assert found["body"] != {}


def test_a_sender_who_is_nobody_corrects_what_the_same_text_sent(number: Number) -> None:
    nobody, another = {"from": "status@broadcast"}, {"from": "other@broadcast"}
    written(text() | nobody, edit("wamid.E") | another)
    assert shown(number)["editId"] is None
    written(edit("wamid.F") | nobody)
    assert shown(number)["editId"] == stored("wamid.F").id
    written(deletion("wamid.D") | nobody)
    assert shown(number)["body"] == {}


def test_a_reaction_names_its_message(number: Number) -> None:
    sent = accepted_message(number, "wamid.OUT")
    reaction = {"message_id": "wamid.OUT", "emoji": "\U0001f44d"}
    written(text(type="reaction", reaction=reaction))
    expected = {"messageId": sent.id, "waMessageId": "wamid.OUT"}
    assert told("message.received")[0]["context"] == shown(number)["context"] == expected


def test_a_message_has_the_networks_own_time(number: Number, clock: Clock) -> None:
    own = str(clock.at // 1000 - 3600)
    written(text("wamid.A"), text("wamid.B", timestamp=own), text("wamid.C", timestamp="never"))
    first, late, timeless = (shown(number, f"wamid.{each}") for each in "ABC")
    assert first["networkTimestamp"] == first["createdAt"]
    assert (late["networkTimestamp"], late["createdAt"]) == (
        "2026-11-20T08:30:00.000Z",
        first["createdAt"],
    )
    assert timeless["networkTimestamp"] is None


def test_a_sent_message_has_the_time_of_its_latest_status(number: Number, clock: Clock) -> None:
    accepted_message(number, "wamid.OUT")
    assert shown(number, "wamid.OUT")["networkTimestamp"] is None

    def after(status: str, seconds: int) -> str:
        at = str(clock.at // 1000 + seconds)
        ingest_now(messages(statuses=[status_of("wamid.OUT", status, timestamp=at)]))
        found: str = shown(number, "wamid.OUT")["networkTimestamp"]
        return found

    assert after("sent", -5) == "2026-11-20T09:29:55.000Z"
    assert after("read", 8) == "2026-11-20T09:30:08.000Z"
    assert after("delivered", 9) == "2026-11-20T09:30:08.000Z"


def test_messages_in_a_group_name_the_group(number: Number) -> None:
    written(text("wamid.A", group_id="Y2FwaV9ncm91cA"), text("wamid.B"))
    assert shown(number, "wamid.A")["group"] == {"id": "Y2FwaV9ncm91cA"}
    assert [each["group"] for each in told("message.received")][1] is None


def test_a_malformed_sender_makes_no_contact(number: Number) -> None:
    written(text() | {"from": " "})
    person = shown(number)["contact"]
    assert set(person.values()) == {None}
    with writing():
        Message.update(from_number="status@broadcast").execute()
    assert set(shown(number)["contact"].values()) == {None}

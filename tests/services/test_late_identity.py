"""Changes of identifiers that arrive late: the state is that of the order in which they happened."""

import json
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from models import clock
from models.accounts.account import Account
from models.deliveries.event import Event
from models.messages.contact import IS_PERSON, Contact
from models.messages.erasure import ErasedPerson, Erasure
from models.messages.message import Message
from models.messages.suppression import Suppression
from models.numbers.number import Number
from tests import factories
from tests.tasks.callbacks import ingest_now, messages, text

OLD, NEW, NEWEST = "15551234567", "15557654321", "15550009999"
OLD_ID, NEW_ID, NEWEST_ID, OTHER_ID = "US.1001", "US.2002", "US.3003", "US.9009"
pytestmark = pytest.mark.usefixtures("clock", "number")


def _at(minutes: int) -> str:
    """A time an hour ago, and these minutes later."""
    return str(clock.now() // 1000 - 3_600 + minutes * 60)


def write(minutes: int, phone: str | None, user_id: str | None = None, **changes: Any) -> None:
    """A person writes, and has a name of that time."""
    person = {"wa_id": phone, "user_id": user_id}
    named = {name: value for name, value in person.items() if value}
    message = text(f"wamid.{minutes}", timestamp=_at(minutes), **changes)
    del message["from"]
    message |= {"from": phone} if phone else {}
    message |= {"from_user_id": user_id} if user_id else {}
    about = named | {"profile": {"name": f"Name {minutes}"}}
    ingest_now(messages(messages=[message], contacts=[about]))


def become(minutes: int, old: tuple[str | None, str], new: tuple[str, str]) -> None:
    """The platform reports a new phone number and user id."""
    system = {"type": "user_changed_number", "wa_id": new[0], "user_id": new[1]}
    write(minutes, *old, type="system", system=system)


def save(minutes: int, phone: str, name: str | None) -> None:
    """The owner of the number saves or removes the name of a person in the app."""
    state: dict[str, Any] = {"type": "contact", "contact": {"phone_number": phone}}
    state |= {"action": "add" if name else "remove", "metadata": {"timestamp": _at(minutes)}}
    state["contact"] |= {"full_name": name} if name else {}
    value = {"metadata": {"phone_number_id": "1001"}, "state_sync": [state]}
    ingest_now({"id": "2001", "changes": [{"field": "smb_app_state_sync", "value": value}]})


def people() -> list[tuple[str | None, str | None, str | None]]:
    """Phone number, user id and name of each person."""
    rows = Contact.select().where(IS_PERSON).order_by(Contact.id)
    return [(row.phone, row.user_id, row.name) for row in rows]


def suppressed() -> set[str | None]:
    return {row.person for row in Suppression.select() if row.is_out}


Step = Callable[[], None]
STORY: list[Step] = [
    lambda: write(2, OLD, text={"body": "STOP"}),
    lambda: become(4, (OLD, OLD_ID), (NEW, NEW_ID)),
    lambda: become(6, (None, NEW_ID), (NEWEST, NEWEST_ID)),
    lambda: write(8, None, NEWEST_ID),
]


@pytest.mark.parametrize("order", list(permutations(STORY)))
def test_changes_and_messages_lead_to_one_person_in_any_order(order: tuple[Step, ...]) -> None:
    write(0, OLD, OLD_ID)
    for step in order:
        step()
    assert people() == [(NEWEST, NEWEST_ID, "Name 8")]
    assert {row.contact_id for row in Message.select()} == {Contact.get(IS_PERSON).id}
    assert suppressed() == {OLD, OLD_ID, NEW, NEW_ID, NEWEST, NEWEST_ID}


def test_what_comes_late_belongs_to_whom_had_the_phone_number_then() -> None:
    write(0, OLD, OLD_ID)
    become(10, (OLD, OLD_ID), (NEW, NEW_ID))
    write(20, OLD, OTHER_ID)
    write(5, OLD)
    assert people() == [(NEW, NEW_ID, "Name 10"), (OLD, OTHER_ID, "Name 20")]
    first, second = Contact.select().where(IS_PERSON).order_by(Contact.id)
    theirs = {row.wa_message_id: row.contact_id for row in Message.select()}
    assert (theirs["wamid.5"], theirs["wamid.20"]) == (first.id, second.id)
    write(30, OLD)
    assert Message.get(Message.wa_message_id == "wamid.30").contact_id == second.id


APART: list[Step] = [
    lambda: become(4, (OLD, OLD_ID), (NEW, NEW_ID)),
    lambda: write(6, None, NEW_ID, text={"body": "STOP"}),
    lambda: write(8, NEW, NEW_ID),
    lambda: write(9, NEW),
]


@pytest.mark.parametrize("order", list(permutations(APART)))
def test_a_person_who_was_known_as_two_has_the_latest_name(order: tuple[Step, ...]) -> None:
    write(0, OLD, OLD_ID)
    for step in order:
        step()
    assert people() == [(NEW, NEW_ID, "Name 9")]
    assert suppressed() == {NEW, NEW_ID}


AGREED: list[Step] = [
    lambda: become(2, (None, OLD_ID), (OLD, NEW_ID)),
    lambda: write(4, None, NEW_ID, text={"body": "STOP"}),
    lambda: write(6, OLD, text={"body": "START"}),
    lambda: write(8, OLD, NEW_ID),
]


@pytest.mark.parametrize("order", list(permutations(AGREED)))
def test_the_last_word_of_a_person_who_was_known_as_two_counts(order: tuple[Step, ...]) -> None:
    write(0, OLD, OLD_ID)
    for step in order:
        step()
    assert people() == [(OLD, NEW_ID, "Name 8")]
    assert (suppressed(), Contact.get(IS_PERSON).is_out) == (set(), False)


TAKEN: list[Step] = [
    lambda: become(10, (OLD, OLD_ID), (NEW, NEW_ID)),
    lambda: become(20, (NEWEST, OTHER_ID), (NEW, OTHER_ID)),
    lambda: write(30, None, NEW_ID),
]


@pytest.mark.parametrize("order", list(permutations(TAKEN)))
def test_an_older_report_takes_no_phone_number_from_its_later_owner(
    order: tuple[Step, ...],
) -> None:
    write(0, OLD, OLD_ID)
    write(1, NEWEST, OTHER_ID)
    for step in order:
        step()
    assert {row[:2] for row in people()} == {(None, NEW_ID), (NEW, OTHER_ID)}


def test_a_report_that_does_not_name_the_phone_number_ends_it_too() -> None:
    write(0, OLD, OLD_ID)
    write(6, NEW, NEW_ID)
    write(12, None, NEWEST_ID)
    write(14, NEW, NEWEST_ID)
    become(4, (None, OLD_ID), (NEW, NEW_ID))
    assert {row[:2] for row in people()} == {(None, NEW_ID), (NEW, NEWEST_ID)}
    become(10, (NEW, NEW_ID), (NEW, NEWEST_ID))
    assert people() == [(NEW, NEWEST_ID, "Name 14")]


def test_a_report_that_comes_late_ends_no_later_phone_number() -> None:
    write(0, OLD, OLD_ID)
    become(6, (None, NEW_ID), (NEWEST, NEWEST_ID))
    write(8, NEW, OTHER_ID)
    become(4, (None, OLD_ID), (NEW, NEW_ID))
    assert {row[:2] for row in people()} == {(NEWEST, NEWEST_ID), (NEW, OTHER_ID)}


def test_an_opt_out_of_a_user_id_that_was_replaced_without_a_report_is_not_the_latest_word() -> (
    None
):
    write(0, OLD, OLD_ID)
    prefer(12, OLD, NEW_ID, "resume")
    prefer(4, None, OLD_ID)
    write(2, OLD, OLD_ID)
    write(10, OLD, NEW_ID)
    become(6, (OLD, OLD_ID), (OLD, NEW_ID))
    assert people() == [(OLD, NEW_ID, "Name 10")]
    assert (suppressed(), Contact.get(IS_PERSON).is_out) == ({OLD_ID}, False)


def test_a_phone_number_that_was_replaced_without_a_report_leads_to_the_person_before() -> None:
    write(0, OLD, OLD_ID)
    write(10, NEW, OLD_ID)
    write(5, OLD)
    assert people() == [(NEW, OLD_ID, "Name 10")]
    write(10, OLD, id="wamid.other")
    assert [row[0] for row in people()] == [NEW, OLD]


@pytest.mark.parametrize(("wrote", "name"), [(2, "Name 4"), (6, "Name 6")])
def test_a_report_names_the_person_who_is_known_by_the_new_identifiers(
    wrote: int, name: str
) -> None:
    write(wrote, NEW, NEW_ID)
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    assert people() == [(NEW, NEW_ID, name)]
    assert Event.select().where(Event.kind == "contact.updated").count() == 0


def test_what_a_new_user_id_says_is_said_about_it_only() -> None:
    write(0, OLD, OLD_ID)
    write(4, OLD, NEW_ID, text={"body": "STOP"})
    assert suppressed() == {OLD, NEW_ID}


def tell(minutes: int, phone: str) -> None:
    """The history has a message, without a name."""
    message = text(f"wamid.{minutes}", timestamp=_at(minutes), **{"from": phone})
    message["history_context"] = {"status": "READ"}
    chunk: dict[str, Any] = {"metadata": {"phase": 0, "chunk_order": 1, "progress": 5}}
    chunk["threads"] = [{"id": phone, "messages": [message]}]
    value = {"metadata": {"phone_number_id": "1001"}, "history": [chunk]}
    ingest_now({"id": "2001", "changes": [{"field": "history", "value": value}]})


def test_what_the_history_tells_has_no_name() -> None:
    write(0, OLD, OLD_ID)
    tell(8, OLD)
    write(8, None, NEW_ID)
    become(4, (OLD, OLD_ID), (OLD, NEW_ID))
    assert people() == [(OLD, NEW_ID, "Name 8")]


def test_what_comes_in_the_second_of_a_change_belongs_to_whom_has_the_phone_number() -> None:
    write(0, OLD, OLD_ID)
    become(10, (OLD, OLD_ID), (NEW, NEW_ID))
    write(10, OLD, id="wamid.other")
    assert [row[0] for row in people()] == [NEW, OLD]


def test_an_older_change_does_not_replace_a_newer_one() -> None:
    write(0, OLD, OLD_ID)
    become(8, (OLD, NEW_ID), (OLD, NEWEST_ID))
    become(4, (OLD, OLD_ID), (OLD, NEW_ID))
    assert [row[:2] for row in people()] == [(OLD, NEWEST_ID)]


def test_a_phone_number_that_the_person_has_again_stays() -> None:
    write(0, OLD, OLD_ID)
    become(8, (NEW, OLD_ID), (OLD, OLD_ID))
    become(4, (OLD, OLD_ID), (NEW, OLD_ID))
    assert [row[:2] for row in people()] == [(OLD, OLD_ID)]


def test_a_later_change_of_another_identifier_or_person_outdates_no_change() -> None:
    write(0, OLD, OLD_ID)
    become(8, (OLD, OLD_ID), (OLD, NEW_ID))
    become(9, (NEWEST, OTHER_ID), ("15550008888", OTHER_ID))
    become(4, (OLD, OLD_ID), (NEW, OLD_ID))
    assert [row[:2] for row in people()] == [(NEW, NEW_ID), ("15550008888", OTHER_ID)]


def test_what_comes_late_takes_no_phone_number_that_its_owner_has_used_since() -> None:
    write(0, NEW, OTHER_ID)
    write(10, None, OLD_ID)
    write(20, NEW, OTHER_ID)
    write(5, NEW, OLD_ID)
    assert {row[:2] for row in people()} == {(None, OLD_ID), (NEW, OTHER_ID)}


def test_what_comes_late_shows_that_two_contacts_are_one_person() -> None:
    write(0, NEW)
    write(10, None, OLD_ID)
    write(5, NEW, OLD_ID)
    assert people() == [(NEW, OLD_ID, "Name 10")]


def prefer(minutes: int, phone: str | None, user_id: str, value: str = "stop") -> None:
    """A person chooses in the app whether to get marketing."""
    item = {"user_id": user_id, "timestamp": _at(minutes), "value": value}
    item |= {"category": "marketing_messages"} | ({"wa_id": phone} if phone else {})
    told = {"metadata": {"phone_number_id": "1001"}, "user_preferences": [item]}
    ingest_now({"id": "2001", "changes": [{"field": "user_preferences", "value": told}]})


def test_an_older_preference_replaces_no_identifier_of_somebody_who_never_wrote() -> None:
    prefer(8, NEW, OLD_ID)
    prefer(4, OLD, OLD_ID)
    assert [row[:2] for row in people()] == [(NEW, OLD_ID)]
    prefer(12, NEWEST, OLD_ID)
    assert [row[:2] for row in people()] == [(NEWEST, OLD_ID)]


def test_a_number_that_was_seen_late_was_left_when_the_next_one_was_reported() -> None:
    write(0, OLD, OLD_ID)
    write(9, NEWEST)
    become(6, (None, NEW_ID), (NEWEST, NEWEST_ID))
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    write(7, NEW, OTHER_ID)
    assert [row[:2] for row in people()] == [(NEWEST, NEWEST_ID), (NEW, OTHER_ID)]


def test_a_late_opt_out_also_holds_for_what_the_person_gave_up_and_leaves_a_later_opt_in() -> None:
    write(0, OLD, OLD_ID)
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    write(8, NEW, text={"body": "START"})
    write(2, OLD, OLD_ID, text={"body": "STOP"})
    assert suppressed() == {OLD, OLD_ID}
    assert not Contact.get(IS_PERSON).is_out


def test_a_late_opt_out_reaches_the_other_numbers_contact_with_what_the_person_gave_up(
    account: Account,
) -> None:
    second = factories.active_number(account, "1002", phone_number="15550002222")
    there = factories.contact(second, phone=OLD, user_id=OLD_ID)
    write(0, OLD, OLD_ID)
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    write(8, NEW, text={"body": "START"})
    write(2, OLD, OLD_ID, text={"body": "STOP"})
    assert Contact.get_by_id(there.id).is_out
    updates = Event.select().where(Event.kind == "contact.updated", Event.subject_id == there.id)
    assert [json.loads(each.payload)["data"]["optedOut"] for each in updates] == [True]


SAME_SECOND: list[Step] = [
    lambda: become(4, (OLD, OLD_ID), (NEW, NEW_ID)),
    lambda: write(4, NEW, NEW_ID, id="wamid.STOP", text={"body": "STOP"}),
]


@pytest.mark.parametrize("order", [1, -1])
def test_an_opt_out_in_the_second_of_a_change_holds_for_both_phone_numbers(order: int) -> None:
    write(0, OLD, OLD_ID)
    for step in SAME_SECOND[::order]:
        step()
    assert suppressed() == {OLD, OLD_ID, NEW, NEW_ID}


def test_an_opt_out_is_none_of_the_user_id_that_was_given_up_before() -> None:
    write(0, OLD, OLD_ID)
    write(8, OLD, text={"body": "STOP"})
    assert suppressed() == {OLD, OLD_ID}
    become(4, (OLD, OLD_ID), (OLD, NEW_ID))
    assert suppressed() == {OLD, NEW_ID}
    write(2, OLD, text={"body": "STOP"})
    assert suppressed() == {OLD, NEW_ID, OLD_ID}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("STOP", "START", {OLD_ID}), ("START", "STOP", {OLD, NEW_ID})],
)
def test_a_user_id_that_was_given_up_has_again_what_was_said_until_then(
    before: str, after: str, expected: set[str]
) -> None:
    write(0, OLD, OLD_ID)
    write(2, OLD, OLD_ID, text={"body": before})
    write(8, OLD, text={"body": after})
    become(4, (OLD, OLD_ID), (OLD, NEW_ID))
    assert suppressed() == expected
    assert Contact.get(IS_PERSON).is_out == (after == "STOP")
    write(1, OLD, OLD_ID, text={"body": "STOP"})
    assert suppressed() == expected


@pytest.mark.parametrize("is_erased", [False, True])
def test_a_replaced_user_id_that_still_exists_keeps_its_opt_out(*, is_erased: bool) -> None:
    write(0, OLD, OLD_ID)
    write(4, OLD, NEW_ID)
    write(6, None, OLD_ID, text={"body": "STOP"})
    assert suppressed() == {OLD_ID}
    if is_erased:
        Erasure.begin(Contact.get(Contact.user_id == OLD_ID))
    become(8, (OLD, NEW_ID), (NEW, NEW_ID))
    assert suppressed() == {None if is_erased else OLD_ID}
    assert not Contact.get(Contact.user_id == NEW_ID).is_out


def test_what_had_no_effect_counts_for_a_user_id_that_turns_out_to_be_given_up_later() -> None:
    write(0, OLD, OLD_ID)
    write(8, OLD, text={"body": "START"})
    write(2, OLD, text={"body": "STOP"})
    assert suppressed() == set()
    become(4, (OLD, OLD_ID), (OLD, NEW_ID))
    assert suppressed() == {OLD_ID}
    assert not Contact.get(IS_PERSON).is_out


def test_an_erasure_forgets_what_the_person_gave_up_before_the_contact_was_known() -> None:
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    write(2, OLD, OLD_ID, text={"body": "STOP"})
    Erasure.begin(Contact.get(IS_PERSON))
    assert Contact.select().count() == 0
    assert {row.person for row in Suppression.select()} == {None}
    known = {row.identifier for row in ErasedPerson.select()}
    assert known == {OLD, OLD_ID, NEW, NEW_ID}


def test_an_edit_that_came_as_a_strangers_counts_when_the_author_is_known() -> None:
    write(0, OLD, OLD_ID)
    new = {"type": "text", "text": {"body": "Corrected"}}
    edit = {"original_message_id": "wamid.0", "message": new}
    write(8, NEW, NEW_ID, type="edit", edit=edit)
    original = Message.get(Message.wa_message_id == "wamid.0")
    assert original.edited_at is None
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    assert Message.get_by_id(original.id).edited_at is not None


def test_an_edit_counts_when_a_report_shows_that_its_author_was_known_as_two() -> None:
    write(0, None, OLD_ID)
    new = {"type": "text", "text": {"body": "Corrected"}}
    write(2, OLD, type="edit", edit={"original_message_id": "wamid.0", "message": new})
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    assert people() == [(NEW, NEW_ID, "Name 4")]
    assert Message.get(Message.wa_message_id == "wamid.0").edited_at is not None


def test_the_removal_of_an_unknown_persons_name_outdates_an_older_name(number: Number) -> None:
    save(4, OLD, None)
    save(2, OLD, "Older")
    contact = Contact.get(IS_PERSON)
    assert (contact.phone, contact.saved_name) == (OLD, None)
    save(6, OLD, "Newer")
    assert Contact.get(IS_PERSON).saved_name == "Newer"
    save(5, NEW, None)
    save(3, NEW, None)
    write(7, NEW)
    save(4, NEW, "Older")
    assert [row.saved_name for row in Contact.select().where(Contact.phone == NEW)] == [None]
    assert number.id == contact.number_id


def test_the_removal_of_a_name_reaches_a_person_who_turns_out_to_have_the_number() -> None:
    write(0, OLD, OLD_ID)
    save(2, OLD, "Name")
    save(6, NEW, None)
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    assert Contact.get(IS_PERSON).saved_name is None


@pytest.mark.parametrize(("of_old", "of_new", "name"), [(2, 6, "New"), (6, 2, "Old")])
def test_of_two_contacts_of_one_person_the_later_saved_name_counts(
    of_old: int, of_new: int, name: str
) -> None:
    write(0, OLD, OLD_ID)
    write(1, NEW)
    save(of_old, OLD, "Old")
    save(of_new, NEW, "New")
    become(4, (OLD, OLD_ID), (NEW, NEW_ID))
    assert [row.saved_name for row in Contact.select().where(IS_PERSON)] == [name]


def test_removals_are_forgotten_when_no_older_name_can_come(clock: Any) -> None:
    save(4, OLD, None)
    clock.advance(days=9)
    save(4, NEW, None)
    assert Contact.select().count() == 1

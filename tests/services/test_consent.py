"""Consent: an opt-out holds for the person and the account, and survives changes and an erasure."""

import json
from itertools import permutations
from typing import Any

import pytest

from models.accounts.account import Account, ConsentScope
from models.accounts.audit import Audit
from models.database import database, reading, writing
from models.deliveries.event import Event
from models.errors import ConflictError, ForbiddenError
from models.messages.contact import Contact, Source
from models.messages.erasure import Erasure
from models.messages.identity import record as record_person
from models.messages.suppression import Suppression, digests_of
from models.numbers.number import Number
from networks.interface import Acceptance
from services import accounts, consent, contacts, message_status
from tests import factories
from tests.conftest import Clock

PHONE, OTHER = "15551234567", "15557654321"
ID, NEW_ID = "US.1001", "US.2002"


@pytest.fixture
def second(account: Account, number: Number) -> Number:
    """Another number of the account of ``number``."""
    assert number.account_id == account.id
    return factories.active_number(account, "1002", phone_number="15550002222")


@pytest.fixture
def both(number: Number, second: Number) -> tuple[Contact, Contact]:
    """A person with whom both numbers exchange messages."""
    return factories.contact(number, phone=PHONE), factories.contact(second, phone=PHONE)


def opt(contact: Contact, at: int, *, out: bool, because: Source = Source.WORD) -> None:
    with writing():
        contacts.opt(Contact.get_by_id(contact.id), out=out, because=because, at=at)


def is_refused(contact: Contact) -> bool:
    """Whether a marketing template to the contact is refused."""
    try:
        with reading():
            consent.require(contact, "it is marketing.")
    except ConflictError:
        return True
    return False


def is_out(contact: Contact) -> bool:
    """Whether the contact is opted out. What is refused and what it shows must not differ."""
    fresh = Contact.get_by_id(contact.id)
    assert is_refused(fresh) == fresh.is_out
    return fresh.is_out


def per_number(account: Account) -> None:
    account.amend(consent_scope=ConsentScope.NUMBER)


def updates() -> list[tuple[str, bool]]:
    """The contact and its consent in each contact.updated."""
    events = Event.select().where(Event.kind == "contact.updated").order_by(Event.id)
    data = [json.loads(event.payload)["data"] for event in events]
    return [(each["id"], each["optedOut"]) for each in data]


def in_force() -> list[tuple[str | None, str]]:
    rows = Suppression.select().where(Suppression.ended_at.is_null())
    return sorted((row.person, row.number_id) for row in rows)


def test_an_opt_out_holds_for_all_numbers_and_so_does_its_end(
    both: tuple[Contact, Contact],
) -> None:
    here, there = both
    opt(here, 1_000, out=True)
    assert [is_out(here), is_out(there)] == [True, True]
    assert Contact.get_by_id(there.id).opted_out_because == "word"
    opt(there, 2_000, out=False)
    assert [is_out(here), is_out(there)] == [False, False]
    assert sorted(updates()) == sorted(
        (each.id, out) for each in (here, there) for out in (True, False)
    )
    rows = Audit.select().order_by(Audit.id)
    actions = [row.action for row in rows if row.subject == there.id]
    assert actions == ["contact.opted_out", "contact.opted_in"]


def test_a_later_contact_of_another_number_is_opted_out(number: Number, second: Number) -> None:
    opt(factories.contact(number, phone=PHONE), 1_000, out=True)
    with writing():
        later = Contact.of_recipient(second, PHONE)
    assert is_out(later)
    assert (Contact.get_by_id(later.id).opted_out_at, later.history()) == (1_000, [])
    with writing():
        assert not is_out(Contact.of_recipient(second, OTHER))


def test_another_account_does_not_share_it(number: Number) -> None:
    other = factories.active_number(Account.open("Other", "pro"), "1003", phone_number="15550003")
    theirs = factories.contact(other, phone=PHONE)
    opt(factories.contact(number, phone=PHONE), 1_000, out=True)
    assert not is_out(theirs)
    opt(theirs, 1_000, out=True)
    digests = {row.digest for row in Suppression.select()}
    assert len(digests) == 2


def test_an_account_may_keep_the_consent_of_each_number(
    account: Account, both: tuple[Contact, Contact]
) -> None:
    per_number(account)
    here, there = both
    opt(here, 1_000, out=True)
    assert [is_out(here), is_out(there)] == [True, False]
    assert updates() == [(here.id, True)]
    opt(there, 2_000, out=False)
    assert is_out(here)
    opt(here, 2_000, out=False)
    assert not is_out(here)


@pytest.mark.parametrize("order", list(permutations(range(4))))
@pytest.mark.parametrize("last", [0, 1])
def test_the_latest_statement_counts_in_any_order_also_of_statements_and_discoveries(
    number: Number, second: Number, order: tuple[int, ...], last: int
) -> None:
    """A contact without a user id proves to be the person of one without a phone number."""
    by_phone, by_id = factories.contact(number, phone=PHONE), factories.contact(second, user_id=ID)
    for step in order:
        if step == 3:
            with writing():
                found = Contact.get_by_id(by_phone.id)
                contacts.learn(found, {"user_id": ID}, Source.STATUS, 1)
        else:
            contact = (by_phone, by_id)[last if step == 2 else step]
            opt(contact, step * 10_000, out=step < 2)
    assert [is_out(by_phone), is_out(by_id)] == [False, False]


def test_a_late_opt_out_of_another_contact_of_the_person_changes_nothing(
    number: Number, second: Number
) -> None:
    here = factories.contact(number, phone=PHONE)
    there = factories.contact(second, phone=PHONE, user_id=ID)
    opt(here, 40_000, out=False)
    opt(there, 10_000, out=True)
    assert [is_out(here), is_out(there)] == [False, False]


@pytest.mark.parametrize("out", [True, False])
def test_a_repeated_statement_outdates_one_from_before_that_arrives_through_another_number(
    both: tuple[Contact, Contact], *, out: bool
) -> None:
    here, there = both
    for at in (10_000, 20_000, 90_000):
        opt(here, at, out=out or at == 10_000)
    opt(there, 50_000, out=not out)
    assert [is_out(here), is_out(there)] == [out, out]
    opt(there, 95_000, out=not out)
    assert [is_out(here), is_out(there)] == [not out, not out]


@pytest.mark.parametrize("first", [True, False])
def test_of_two_statements_of_one_second_the_one_that_arrives_last_counts(
    number: Number, *, first: bool
) -> None:
    contact = factories.contact(number, phone=PHONE)
    opt(contact, 4_000, out=not first)
    for out, at in ((first, 5_999), (not first, 5_000)):
        opt(contact, at, out=out)
    assert is_out(contact) == (not first)


def test_an_opt_in_to_one_number_leaves_the_opt_out_of_the_others(
    account: Account, both: tuple[Contact, Contact]
) -> None:
    here, there = both
    opt(here, 1_000, out=True)
    per_number(account)
    opt(here, 2_000, out=False)
    assert [is_out(here), is_out(there)] == [False, True]
    consent.suppress(account.id, PHONE, None, None)
    opt(here, 3_000, out=True)
    assert [is_out(here), is_out(there)] == [True, True]


def test_a_suppression_of_all_numbers_ends_an_earlier_opt_in_to_one(
    account: Account, clock: Clock, both: tuple[Contact, Contact]
) -> None:
    per_number(account)
    here, there = both
    row, _ = consent.suppress(account.id, PHONE, None, None)
    # By the network's clock, which is ahead.
    opt(here, clock.at + 5_000, out=False)
    assert [is_out(here), is_out(there)] == [False, True]
    assert consent.suppress(account.id, PHONE, None, "asked again") == (row, True)
    assert [is_out(here), is_out(there)] == [True, True]
    assert Suppression.get_by_id(row.id).reason == "asked again"
    assert consent.suppress(account.id, PHONE, None, None) == (row, False)


def test_an_old_opt_out_of_all_numbers_spreads_without_a_change_of_itself(
    account: Account, number: Number, clock: Clock
) -> None:
    per_number(account)
    here = factories.contact(number, phone=PHONE)
    row, _ = consent.suppress(account.id, PHONE, None, "asked")
    opt(here, clock.at + 5_000, out=False)
    with writing():
        contacts.learn(Contact.get_by_id(here.id), {"user_id": ID}, Source.STATUS, 2_000)
    assert not is_out(here)
    fresh = Suppression.get_by_id(row.id)
    assert (fresh.at, fresh.reason) == (row.at, "asked")


def test_a_repeated_statement_to_one_number_changes_none_to_another(
    account: Account, both: tuple[Contact, Contact]
) -> None:
    per_number(account)
    here, there = both
    opt(here, 1_000_000, out=True)
    opt(here, 2_000_000, out=False)
    opt(there, 5_000_000, out=False)
    opt(here, 4_000_000, out=True)
    assert [is_out(here), is_out(there)] == [True, False]
    opt(there, 3_000_000, out=True)
    assert not is_out(there)


def test_an_opt_out_of_a_number_that_is_known_already_outdates_earlier_opt_ins_to_it_only(
    account: Account, clock: Clock, both: tuple[Contact, Contact]
) -> None:
    per_number(account)
    here, there = both
    opt(here, 1_000_000, out=True)
    opt(here, 2_000_000, out=False)
    consent.suppress(account.id, PHONE, None, None)
    opt(there, clock.at + 1_000_000, out=False)
    opt(here, clock.at + 3_000_000, out=True)
    opt(here, clock.at + 2_000_000, out=False)
    assert [is_out(here), is_out(there)] == [True, False]


def test_a_request_that_changes_nothing_does_not_outdate_an_opt_out_that_arrives_later(
    number: Number, clock: Clock
) -> None:
    contact = factories.contact(number, phone=PHONE)
    contacts.update_contact(number.account_id, contact.id, opted_out=False)
    opt(contact, clock.at - 60_000, out=True)
    assert is_out(contact)


def test_an_opt_out_of_a_user_id_holds_for_the_phone_number_that_another_number_knows(
    number: Number, second: Number
) -> None:
    factories.contact(number, phone=PHONE, user_id=ID)
    opt(factories.contact(second, user_id=ID), 1_000, out=True)
    assert in_force() == [(PHONE, ""), (ID, "")]


@pytest.fixture
def corrected(number: Number) -> Contact:
    """A contact whose phone number is OTHER. A send to PHONE went there too."""
    message = factories.outbound(number, PHONE)
    with writing():
        message_status.record_acceptance(message, Acceptance("wamid.1", wa_id=OTHER))
    return Contact.get(Contact.phone == OTHER)


def test_an_opt_out_holds_for_the_phone_number_that_the_network_corrected(
    account: Account, second: Number, corrected: Contact
) -> None:
    opt(corrected, 1_000, out=True)
    assert in_force() == [(PHONE, ""), (OTHER, "")]
    with writing():
        there = Contact.of_recipient(second, PHONE)
    assert is_out(there)
    opt(corrected, 2_000, out=False)
    assert [is_out(corrected), is_out(there)] == [False, False]
    assert account.id == there.account_id


def test_an_opt_out_of_a_corrected_phone_number_survives_an_erasure(
    number: Number, corrected: Contact
) -> None:
    opt(corrected, 1_000, out=True)
    Erasure.begin(Contact.get_by_id(corrected.id))
    with writing():
        assert is_out(Contact.of_recipient(number, PHONE))


def test_a_repeated_old_statement_has_no_effect_through_another_number(
    number: Number, second: Number
) -> None:
    here = factories.contact(number, phone=PHONE)
    opt(here, 1_000, out=True, because=Source.NETWORK)
    opt(here, 9_000, out=False, because=Source.NETWORK)
    later = factories.contact(second, phone=PHONE)
    opt(later, 1_000, out=True, because=Source.NETWORK)
    assert [is_out(here), is_out(later)] == [False, False]
    opt(later, 10_000, out=True, because=Source.NETWORK)
    opt(here, 9_000, out=False, because=Source.NETWORK)
    assert [is_out(here), is_out(later)] == [True, True]


def test_the_account_may_change_its_mind_at_once(number: Number, clock: Clock) -> None:
    contact = factories.contact(number, phone=PHONE)
    for out in (True, False, True, False):
        contacts.update_contact(number.account_id, contact.id, opted_out=out)
        assert is_out(contact) == out
    assert clock.at


def test_what_the_account_says_holds_although_the_persons_clock_is_ahead(
    number: Number, clock: Clock
) -> None:
    contact = factories.contact(number, phone=PHONE)
    opt(contact, clock.at + 60_000, out=True)
    contacts.update_contact(number.account_id, contact.id, opted_out=False)
    assert not is_out(contact)
    assert in_force() == []


def test_an_opt_out_follows_identifiers_that_become_known(number: Number, second: Number) -> None:
    by_id = factories.contact(second, user_id=ID)
    opt(factories.contact(number, phone=PHONE), 1_000, out=True)
    assert not is_out(by_id)
    with writing():
        contacts.learn(Contact.get(Contact.phone == PHONE), {"user_id": ID}, Source.STATUS, 2_000)
    assert is_out(by_id)
    assert in_force() == [(PHONE, ""), (ID, "")]


def test_an_opt_out_follows_a_new_phone_number(number: Number, second: Number) -> None:
    contact = factories.contact(number, phone=PHONE)
    opt(contact, 1_000, out=True)
    with writing():
        contacts.learn(Contact.get_by_id(contact.id), {"phone": OTHER}, Source.NETWORK, 2_000)
    assert is_out(contact)
    assert is_out(factories.contact(second, phone=OTHER))


def test_a_suppressed_identifier_opts_out_the_person_who_turns_out_to_have_it(
    account: Account, both: tuple[Contact, Contact]
) -> None:
    consent.suppress(account.id, ID, None, None)
    here, there = both
    assert [is_out(here), is_out(there)] == [False, False]
    with writing():
        contacts.learn(Contact.get_by_id(here.id), {"user_id": ID}, Source.STATUS, 2_000)
    assert [is_out(here), is_out(there)] == [True, True]
    assert sorted(updates()) == sorted([(here.id, True), (there.id, True)])


def test_an_opt_in_of_the_earlier_owner_of_a_phone_number_ends_no_opt_out(
    number: Number, second: Number
) -> None:
    owner = factories.contact(number, user_id=ID)
    opt(owner, 1_000_000, out=True)
    opt(factories.contact(number, phone=PHONE, user_id=NEW_ID), 2_000_000, out=False)
    identity = {"phone": PHONE, "user_id": ID}
    with writing():
        there, _ = record_person(second, identity, Source.MESSAGE, 3_000_000)
        consent.follow(there)
    assert is_out(there)
    with writing():
        contacts.learn(Contact.get_by_id(owner.id), identity, Source.MESSAGE, 3_000_000)
    assert [is_out(owner), is_out(there)] == [True, True]


@pytest.fixture
def owners(number: Number, second: Number) -> tuple[Contact, Contact]:
    """The earlier and the present owner of a phone number, which the contacts of both show."""
    earlier = factories.contact(number, phone=PHONE, user_id=ID)
    return earlier, factories.contact(second, phone=PHONE, user_id=NEW_ID)


@pytest.mark.parametrize("order", [1, -1])
def test_an_opt_in_of_the_present_owner_of_a_phone_number_ends_no_opt_out_of_the_earlier_one(
    account: Account, owners: tuple[Contact, Contact], order: int
) -> None:
    earlier, present = owners
    statements = [(earlier, 5_000_000, True), (present, 9_000_000, False)]
    for contact, at, out in statements[::order]:
        opt(contact, at, out=out)
    assert is_out(earlier)
    opt(present, 10_000_000, out=False)
    assert [is_out(earlier), is_out(present)] == [True, False]
    # As a contact of the release before may show it.
    earlier.amend(opted_out_at=None)
    assert is_refused(Contact.get_by_id(earlier.id))
    third = factories.active_number(account, "1003", phone_number="15550003333")
    with writing():
        assert not is_out(Contact.of_recipient(third, PHONE))
        assert is_out(Contact.of_recipient(third, ID))


def test_an_opt_in_by_the_phone_number_ends_no_opt_out_of_its_earlier_owner(
    account: Account, owners: tuple[Contact, Contact]
) -> None:
    earlier, present = owners
    opt(earlier, 5_000_000, out=True)
    opt(present, 9_000_000, out=False)
    Erasure.begin(Contact.get_by_id(present.id))
    third = factories.active_number(account, "1003", phone_number="15550003333")
    opt(factories.contact(third, phone=PHONE), 12_000_000, out=False)
    assert is_out(earlier)
    with writing():
        assert is_out(Contact.of_recipient(third, ID))


def test_where_numbers_are_kept_apart_a_person_opts_in_to_one_of_them(
    account: Account, number: Number, second: Number
) -> None:
    account.amend(consent_scope=ConsentScope.NUMBER)
    there = factories.contact(second, phone=PHONE)
    opt(there, 5_000_000, out=True)
    here = factories.contact(number, user_id=ID)
    opt(here, 8_000_000, out=False)
    with writing():
        contacts.learn(Contact.get_by_id(here.id), {"phone": PHONE}, Source.MESSAGE, 9_000_000)
    assert (is_out(here), is_out(there)) == (False, True)


def test_where_numbers_are_kept_apart_an_opt_in_to_one_hides_no_opt_out_of_the_next(
    account: Account, number: Number, second: Number
) -> None:
    per_number(account)
    opt(factories.contact(number, phone=PHONE), 5_000_000, out=False)
    opt(factories.contact(second, phone=PHONE), 5_000_000, out=True)
    third = factories.active_number(account, "1003", phone_number="15550003333")
    contact = factories.contact(third, user_id=ID)
    with writing():
        contacts.learn(contact, {"phone": PHONE}, Source.MESSAGE, 9_000_000)
        there = [Contact.of_recipient(each, ID) for each in (number, second, third)]
    assert [is_out(each) for each in there] == [False, True, False]


def test_an_opt_in_of_a_user_id_that_replaces_another_one_ends_no_opt_out_of_that(
    number: Number, second: Number
) -> None:
    opt(factories.contact(number, phone=PHONE, user_id=ID), 5_000_000, out=True)
    opt(factories.contact(second, user_id=NEW_ID), 9_000_000, out=False)
    with writing():
        contact = Contact.get(Contact.user_id == ID)
        contacts.learn(contact, {"user_id": NEW_ID}, Source.MESSAGE, 9_500_000)
        assert is_out(Contact.of_recipient(second, ID))


def test_the_end_of_the_suppression_of_a_phone_number_opts_in_none_of_its_owners(
    account: Account, owners: tuple[Contact, Contact]
) -> None:
    row, _ = consent.suppress(account.id, PHONE, None, None)
    assert in_force() == [(PHONE, ""), (ID, ""), (NEW_ID, "")]
    consent.end(account.id, row.id)
    assert in_force() == [(ID, ""), (NEW_ID, "")]
    assert [is_out(each) for each in owners] == [True, True]


def test_a_persons_own_opt_in_ends_the_opt_out_of_a_phone_number_that_they_turn_out_to_have(
    account: Account, number: Number, clock: Clock
) -> None:
    contact = factories.contact(number, user_id=ID)
    consent.suppress(account.id, PHONE, None, None)
    opt(contact, clock.at + 5_000, out=False)
    with writing():
        contacts.learn(Contact.get_by_id(contact.id), {"phone": PHONE}, Source.STATUS, clock.at)
    assert not is_out(contact)
    assert in_force() == []


def test_of_merged_contacts_the_latest_statement_counts(number: Number) -> None:
    by_phone, by_id = factories.contact(number, phone=PHONE), factories.contact(number, user_id=ID)
    opt(by_phone, 1_000, out=True)
    opt(by_id, 1_000, out=True)
    opt(by_id, 2_000, out=False)
    with writing():
        contacts.learn(Contact.get_by_id(by_id.id), {"phone": PHONE}, Source.NETWORK, 3_000)
    assert not is_out(by_id)
    assert Suppression.select().where(Suppression.ended_at.is_null()).count() == 0


def test_an_opt_in_by_the_phone_number_of_a_merged_contact_ends_the_opt_out_of_the_person(
    number: Number, second: Number
) -> None:
    factories.contact(number, phone=PHONE)
    by_id = factories.contact(number, user_id=ID)
    opt(by_id, 1_000_000, out=True)
    opt(factories.contact(second, phone=PHONE), 9_000_000, out=False)
    with writing():
        contact = Contact.get_by_id(by_id.id)
        contacts.learn(contact, {"phone": PHONE}, Source.MESSAGE, 9_500_000)
    assert not is_out(by_id)


def test_an_end_of_the_opt_out_keeps_no_identifier(account: Account, number: Number) -> None:
    row, is_new = consent.suppress(account.id, PHONE, None, "asked by phone")
    assert is_new
    consent.end(account.id, row.id)
    ended = Suppression.get_by_id(row.id)
    assert (ended.is_out, ended.person, ended.reason) == (False, None, None)
    consent.end(account.id, row.id)
    assert Audit.select().where(Audit.action == "suppression.removed").count() == 1
    assert not is_out(factories.contact(number, phone=PHONE))
    assert Suppression.get_by_id(row.id).person is None
    again, is_new = consent.suppress(account.id, PHONE, None, None)
    assert (again.id, is_new, again.person) == (row.id, True, PHONE)


def test_a_suppression_opts_out_contacts_and_its_end_opts_them_in(
    account: Account, number: Number, second: Number
) -> None:
    here = factories.contact(number, phone=PHONE, user_id=ID)
    there = factories.contact(second, user_id=ID)
    row, _ = consent.suppress(account.id, PHONE, None, None)
    assert [is_out(here), is_out(there)] == [True, True]
    assert consent.suppress(account.id, PHONE, None, None) == (row, False)
    consent.end(account.id, row.id)
    assert [is_out(here), is_out(there)] == [False, False]
    assert in_force() == []
    consent.end(account.id, row.id)
    with pytest.raises(ForbiddenError):
        consent.end(Account.open("Other", "pro").id, row.id)


def test_a_suppression_of_one_number_needs_an_account_that_keeps_them_apart(
    account: Account, number: Number, second: Number
) -> None:
    with pytest.raises(ConflictError) as refused:
        consent.suppress(account.id, PHONE, number.id, None)
    assert refused.value.details["field"] == "/numberId"
    assert in_force() == []
    per_number(account)
    consent.suppress(account.id, PHONE, number.id, None)
    assert is_out(factories.contact(number, phone=PHONE))
    assert not is_out(factories.contact(second, phone=PHONE))


def _all_text() -> str:
    """What all columns of the suppressions contain."""
    with reading():
        found: Any = database.execute_sql("SELECT * FROM suppression").fetchall()
    return str(found)


def test_an_erasure_keeps_a_digest_of_the_opt_out_and_no_identifier(
    number: Number, second: Number
) -> None:
    contact = factories.contact(number, phone=PHONE, user_id=ID)
    opt(contact, 1_000, out=True)
    Erasure.begin(Contact.get_by_id(contact.id))
    assert PHONE not in _all_text()
    assert ID not in _all_text()
    assert is_out(factories.contact(number, phone=PHONE))
    with writing():
        assert is_out(Contact.of_recipient(second, ID))


def test_a_repeated_opt_out_keeps_the_reason_of_the_first_one(
    account: Account, number: Number, clock: Clock
) -> None:
    contact = factories.contact(number, phone=PHONE)
    row, _ = consent.suppress(account.id, PHONE, None, "asked by phone")
    opt(contact, clock.at + 5_000, out=True)
    kept = Suppression.get_by_id(row.id)
    assert (kept.reason, kept.source, kept.at) == ("asked by phone", "api", clock.at + 5_000)


def test_an_erasure_removes_the_reason_of_a_suppression(account: Account, number: Number) -> None:
    contact = factories.contact(number, phone=PHONE)
    consent.suppress(account.id, PHONE, None, "Ana asked by phone")
    Erasure.begin(Contact.get_by_id(contact.id))
    assert "Ana" not in _all_text()


def test_the_account_may_name_an_erased_person_again(account: Account, number: Number) -> None:
    opt(factories.contact(number, phone=PHONE), 1_000, out=True)
    Erasure.begin(Contact.get())
    row, is_new = consent.suppress(account.id, PHONE, None, None)
    assert (row.person, is_new) == (PHONE, False)
    assert in_force() == [(PHONE, "")]


def test_an_erasure_leaves_the_identifier_to_a_contact_of_another_number(
    both: tuple[Contact, Contact],
) -> None:
    here, there = both
    opt(here, 1_000, out=True)
    Erasure.begin(Contact.get_by_id(here.id))
    assert in_force() == [(PHONE, "")]
    Erasure.begin(Contact.get_by_id(there.id))
    assert PHONE not in _all_text()


@pytest.mark.parametrize("way", ["a message", "a send", "a new identifier"])
def test_the_opt_out_of_an_erased_person_ends_for_the_new_contact_too(
    number: Number, way: str
) -> None:
    contact = factories.contact(number, phone=PHONE)
    opt(contact, 1_000, out=True)
    Erasure.begin(Contact.get_by_id(contact.id))
    later = factories.contact(number, user_id=ID) if way == "a new identifier" else None
    with writing():
        if later is not None:
            contacts.learn(later, {"phone": PHONE}, Source.STATUS, 2_000)
        elif way == "a send":
            later = Contact.of_recipient(number, PHONE)
        else:
            later, _ = record_person(number, {"phone": PHONE}, Source.MESSAGE, 2_000)
            consent.follow(later)
    assert is_out(later)
    [row] = Suppression.select().where(Suppression.person == PHONE)
    consent.end(number.account_id, row.id)
    assert not is_out(later)


def test_an_erasure_of_somebody_who_opted_in_again_keeps_nothing(number: Number) -> None:
    contact = factories.contact(number, phone=PHONE)
    opt(contact, 1_000, out=True)
    opt(contact, 2_000, out=False)
    other = factories.contact(number, phone=OTHER)
    opt(other, 1_000, out=True)
    opt(other, 2_000, out=False)
    Erasure.begin(Contact.get_by_id(contact.id))
    [left] = Suppression.select()
    assert left.said_at == 2_000
    Erasure.begin(Contact.get_by_id(other.id))
    assert Suppression.select().count() == 0


def test_an_opt_out_that_only_a_contact_or_only_the_list_knows_is_refused_too(
    number: Number,
) -> None:
    """A process of the release before writes only contacts."""
    contact = factories.contact(number, phone=PHONE)
    contact.amend(opted_out_at=1, opted_out_because="word")
    assert is_refused(contact)
    opt(contact, 2_000, out=False)
    assert not is_out(contact)
    opt(contact, 3_000, out=True)
    contact.amend(opted_out_at=None)
    assert is_refused(contact)


def test_consent_is_joined_only_if_the_account_has_not_parted_it_again(
    account: Account, both: tuple[Contact, Contact]
) -> None:
    per_number(account)
    opt(both[0], 1_000, out=True)
    consent.join(account.id)
    assert [is_out(each) for each in both] == [True, False]


def test_joining_the_consent_of_numbers_applies_it_to_the_others(
    account: Account, both: tuple[Contact, Contact]
) -> None:
    per_number(account)
    here, there = both
    opt(here, 1_000, out=True)
    accounts.set_consent(account, answer="Bye")
    assert not is_out(there)
    accounts.set_consent(account, scope=ConsentScope.ACCOUNT)
    assert is_out(there)
    assert (account.consent_scope, account.stop_answer) == ("account", "Bye")
    opt(there, 2_000, out=False)
    assert [is_out(here), is_out(there)] == [False, False]


def test_joining_the_consent_of_numbers_leaves_no_person_opted_out_of_one_of_them(
    account: Account, number: Number, second: Number, clock: Clock
) -> None:
    per_number(account)
    people = PHONE, OTHER, "15550001111", "15550002222"
    here = [factories.contact(number, phone=person) for person in people]
    there = [factories.contact(second, phone=person) for person in people]
    # The first one opted out of a number before an opt-in to the other, the second one out of all before it.
    opt(there[0], 1_000, out=True)
    opt(there[0], 9_000, out=False)
    opt(here[0], 5_000, out=True)
    consent.suppress(account.id, OTHER, None, None)
    opt(here[1], clock.at + 5_000, out=False)
    # The third one opted in to both again, and so did the fourth one by the end of a suppression of all.
    consent.suppress(account.id, people[2], None, None)
    opt(here[3], 1_000, out=True)
    row, _ = consent.suppress(account.id, people[3], None, None)
    for contact in (here[2], there[2]):
        opt(contact, clock.at + 5_000, out=False)
    consent.end(account.id, row.id)
    accounts.set_consent(account, scope=ConsentScope.ACCOUNT)
    assert [is_out(each) for each in here] == [True, True, False, False]
    assert [is_out(each) for each in there] == [True, True, False, False]


def test_joining_the_consent_of_numbers_does_not_end_at_a_person_who_opted_in_again(
    account: Account, number: Number, second: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    per_number(account)
    monkeypatch.setattr(consent, "MOST_JOINED", 2)
    people = ["15550000001", "15550000002", "15550000003"]
    for person in people:
        opt(factories.contact(number, phone=person), 1_000, out=True)
    # They are joined in this order.
    people.sort(key=lambda person: digests_of(Account.get_by_id(account.id), [person]))
    opt(Contact.get(Contact.phone == people[0]), 2_000, out=False)
    there = [factories.contact(second, phone=person) for person in people]
    accounts.set_consent(account, scope=ConsentScope.ACCOUNT)
    assert [is_out(each) for each in there] == [False, True, True]


def test_joining_the_consent_of_numbers_keeps_the_opt_outs_of_erased_people(
    account: Account, number: Number, second: Number, clock: Clock
) -> None:
    per_number(account)
    people = PHONE, OTHER
    for person in people:
        contact = factories.contact(number, phone=person)
        opt(contact, 1_000, out=True)
        Erasure.begin(Contact.get_by_id(contact.id))
    # The first one opts in to the other number by a message, the second one is no contact again.
    there = factories.contact(second, phone=PHONE)
    opt(there, 2_000, out=False)
    row, _ = consent.suppress(account.id, OTHER, second.id, None)
    clock.advance(hours=1)
    consent.end(account.id, row.id)
    accounts.set_consent(account, scope=ConsentScope.ACCOUNT)
    assert is_out(there)
    with writing():
        assert is_out(Contact.of_recipient(second, OTHER))


def test_a_wrong_setting_of_consent_changes_nothing(account: Account) -> None:
    for wrong in ({"languages": ["en", "xx"]}, {"answer": "x" * 4097}):
        with pytest.raises(ValueError, match=r"."):
            accounts.set_consent(account, scope=ConsentScope.NUMBER, **wrong)
        assert Account.get_by_id(account.id).consent_scope == ConsentScope.ACCOUNT
    assert Audit.select().count() == 0

"""One phone number is one number of an account, also under new identifiers of the platform."""

import pytest
from peewee import IntegrityError

from models.accounts.account import Account
from models.database import writing
from models.errors import ForbiddenError, NotFoundError
from models.numbers.number import Number, NumberAlias, NumberStatus, identifiers
from tests import factories

PHONE = "15550001111"


def _migrated(account: Account) -> Number:
    """A number that the platform knew as 1001 and knows as 1002 now."""
    number = factories.active_number(account)
    again = factories.provision(account, "1002", "2002", phone_number=PHONE)
    assert again.id == number.id
    with writing():
        again.adopt("1002", "2002", "token-2")
    return again


def test_a_phone_number_with_new_identifiers_is_the_same_number(account: Account) -> None:
    number = _migrated(account)
    fresh = Number.get_by_id(number.id)
    assert (fresh.phone_number_id, fresh.waba_id) == ("1002", "2002")
    assert Number.all(account.id) == [number]


def test_a_number_is_found_by_its_present_and_its_former_identifier(account: Account) -> None:
    number = _migrated(account)
    assert Number.find_connected("1002") == Number.find_connected("1001") == number
    with writing():
        assert set(identifiers.execute(["1001", "1002", "1003"])) == {
            ("1001", number.id),
            ("1002", number.id),
        }


def test_a_connected_number_comes_before_the_one_that_had_its_identifier(account: Account) -> None:
    _migrated(account)
    rival = Account.open("Rival", "pro")
    theirs = factories.active_number(rival, "1001", phone_number="15550009999")
    assert Number.find_connected("1001") == theirs


def test_the_database_itself_refuses_a_phone_number_twice_in_an_account(account: Account) -> None:
    factories.active_number(account)
    other = factories.active_number(account, "1002")
    with pytest.raises(IntegrityError), writing():
        other.assign({"phone_number": PHONE})


def test_numbers_whose_phone_number_is_unknown_are_different_numbers(account: Account) -> None:
    made = {factories.provision(account, each, phone_number="").id for each in ("1001", "1002")}
    assert len(made) == 2


def test_an_identifier_that_went_to_another_phone_number_leaves_its_number(
    account: Account,
) -> None:
    first, second = (factories.active_number(account, each) for each in ("1001", "1002"))
    with writing():
        assert Number.replaced_by(second, "1001") == first
        second.adopt("1001", "2001", "token-1")
    assert Number.find_connected("1001") == second


def test_a_number_is_known_by_the_identifier_that_was_merged_into_it(account: Account) -> None:
    number, gone = factories.active_number(account), "num_01M8MDZ34JC2PAE3RTPZPK7G1C"
    with writing():
        NumberAlias.note(number, gone, None)
    assert Number.owned(gone, account.id) == number
    with pytest.raises(ForbiddenError):
        Number.owned(gone, Account.open("Rival", "pro").id)
    with pytest.raises(NotFoundError):
        Number.owned("num_01M8MDZ34JC2PAE3RTPZPK7G1D", account.id)
    assert Number.ids_of(account.id) == {number.id: number.id, gone: number.id}


def test_an_identifier_of_the_network_is_none_of_the_gateway(account: Account) -> None:
    number = _migrated(account)
    assert [Number.find(each) for each in ("1001", "1002", number.id)] == [None, None, number]
    assert Number.ids_of(account.id) == {number.id: number.id}


def _activate(number: Number, phone_number_id: str, at: int) -> None:
    """The number is connected under this identifier."""
    with writing():
        number.adopt(phone_number_id, "2001", "token")
        number.move_to(NumberStatus.ACTIVE)
        number.assign({"activated_at": at})


def test_a_late_callback_goes_to_the_number_that_had_the_identifier_last(account: Account) -> None:
    theirs = factories.active_number(Account.open("Rival", "pro"), "1003", phone_number=PHONE)
    ours = factories.active_number(account, phone_number="15550002222")
    _activate(ours, "1001", 1_000)
    _activate(ours, "1002", 2_000)
    _activate(theirs, "1001", 3_000)
    _activate(theirs, "1004", 4_000)
    assert Number.find_connected("1001") == theirs
    _activate(ours, "1001", 5_000)
    _activate(ours, "1002", 6_000)
    assert Number.find_connected("1001") == ours


def test_of_disconnected_numbers_with_an_identifier_the_last_one_is_found(account: Account) -> None:
    ours = factories.active_number(account)
    with writing():
        ours.move_to(NumberStatus.DISCONNECTED)
    theirs = factories.active_number(Account.open("Rival", "pro"), phone_number=PHONE)
    with writing():
        theirs.move_to(NumberStatus.DISCONNECTED)
    assert Number.find_connected("1001") == theirs
    _activate(ours, "1001", (theirs.activated_at or 0) + 1)
    with writing():
        ours.move_to(NumberStatus.DISCONNECTED)
    assert Number.find_connected("1001") == ours


def test_a_late_callback_goes_to_the_account_that_activated_the_identifier_last(
    account: Account,
) -> None:
    first, rival = factories.active_number(account), Account.open("Rival", "pro")
    with writing():
        first.move_to(NumberStatus.DISCONNECTED)
    theirs = factories.active_number(rival, "1001", phone_number=PHONE)
    with writing():
        Number.update(activated_at=Number.activated_at + 1).where(Number.id == theirs.id).execute()
        theirs.move_to(NumberStatus.DISCONNECTED)
        first.adopt("1002", "2002", "token-2")
        first.move_to(NumberStatus.ACTIVE)
    assert Number.find_connected("1001") == theirs

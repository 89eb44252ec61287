"""Numbers: provisioning, who may connect one, and their transitions."""

import pytest
from peewee import IntegrityError

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.database import writing
from models.numbers.number import Number, NumberStatus, NumberTakenError
from tests import factories
from tests.conftest import Clock


def _move(number: Number, status: NumberStatus) -> bool:
    with writing():
        return number.move_to(status)


@pytest.fixture
def rival(state: Stored) -> Account:
    assert state.environment
    return Account.open("Rival", "starter")


def test_a_provisioned_number_is_not_active_yet(account: Account) -> None:
    number = factories.provision(account)
    assert number.status == NumberStatus.PROVISIONING
    assert number.activated_at is None


def test_the_activation_is_dated(account: Account, clock: Clock) -> None:
    number = factories.provision(account)
    clock.advance(seconds=5)
    assert _move(number, NumberStatus.ACTIVE)
    assert (number.status, number.activated_at) == (NumberStatus.ACTIVE, clock.at)
    assert number.created_at == clock.at - 5000


def test_a_transition_to_the_same_status_is_none(number: Number, clock: Clock) -> None:
    activated_at = number.activated_at
    clock.advance(seconds=5)
    assert not _move(number, NumberStatus.ACTIVE)
    assert Number.get_by_id(number.id).activated_at == activated_at


def test_two_holders_of_one_row_make_one_transition(number: Number) -> None:
    stale = Number.get_by_id(number.id)
    assert _move(number, NumberStatus.BANNED)
    assert not _move(stale, NumberStatus.BANNED)


@pytest.mark.parametrize(
    "status", [NumberStatus.PROVISIONING, NumberStatus.ACTIVE, NumberStatus.BANNED]
)
def test_a_number_connected_elsewhere_is_taken(
    account: Account, rival: Account, status: NumberStatus
) -> None:
    _move(factories.active_number(rival), status)
    with pytest.raises(NumberTakenError):
        factories.provision(account)
    assert Number.all(account.id) == []


def test_a_number_that_its_account_lost_may_be_connected_by_another(
    account: Account, rival: Account
) -> None:
    _move(factories.active_number(rival), NumberStatus.DISCONNECTED)
    number = factories.active_number(account)
    assert Number.find_connected("1001") == number


def test_a_new_signup_of_the_same_number_reactivates_the_same_row(account: Account) -> None:
    first = factories.active_number(account)
    _move(first, NumberStatus.DISCONNECTED)
    again = factories.provision(account, waba_id="2002", access_token="token-2", pin="654321")
    assert again.id == first.id
    assert (again.waba_id, again.access_token) == ("2001", "token-1"), "the signup may fail"
    with writing():
        again.adopt("1001", "2002", "token-2")
    assert (again.waba_id, again.access_token) == ("2002", "token-2")
    assert again.pin == "123456", "the platform knows the PIN of the first registration"
    assert _move(again, NumberStatus.ACTIVE)


def test_the_database_itself_refuses_a_number_that_is_connected_twice(
    account: Account, rival: Account
) -> None:
    mine = factories.active_number(account)
    _move(mine, NumberStatus.DISCONNECTED)
    factories.active_number(rival)
    with pytest.raises(IntegrityError), writing():
        Number.update(status=NumberStatus.BANNED).where(Number.id == mine.id).execute()
    with pytest.raises(NumberTakenError), writing():
        mine.move_to(NumberStatus.ACTIVE)


def test_two_accounts_that_race_for_a_number_get_it_once(account: Account, rival: Account) -> None:
    def connect(owner: Account) -> Number | None:
        try:
            return factories.provision(owner)
        except NumberTakenError:
            return None

    won = factories.at_once(lambda: connect(account), lambda: connect(rival))
    assert len([number for number in won if number]) == 1


def test_the_networks_id_finds_the_connected_number_or_the_latest(
    account: Account, rival: Account
) -> None:
    old = factories.active_number(account)
    _move(old, NumberStatus.DISCONNECTED)
    assert Number.find_connected("1001") == old
    new = factories.active_number(rival)
    assert Number.find_connected("1001") == new
    _move(new, NumberStatus.DISCONNECTED)
    assert Number.find_connected("1001") == new
    assert Number.find_connected("1002") is None


def test_tokens_and_pins_are_sealed_at_rest(account: Account, state: Stored) -> None:
    number = factories.active_number(account, access_token="EAA-plain", pin="918273")
    stored = state.everything()
    assert number.sealed_token.encode() in stored
    assert b"EAA-plain" not in stored
    assert b"918273" not in stored


def test_a_page_holds_the_accounts_own_numbers_newest_first(
    account: Account, rival: Account
) -> None:
    made = [factories.active_number(account, f"{i}") for i in range(3)]
    factories.active_number(rival, "9")
    page = Number.page(account.id, limit=2, start=1)
    assert page.rows == [made[1], made[0]]
    assert (page.total, page.limit, page.offset) == (3, 2, 1)

"""404 for what does not exist, 403 for what is another account's."""

import pytest

from handlers.errors import Details, ForbiddenError, NotFoundError
from handlers.ownership import check_numbers, owned
from models.account import Account
from models.number import Number
from tests import factories


@pytest.fixture
def foreign(account: Account) -> Number:
    assert account.id
    return factories.active_number(Account.open("Rival", "pro"), "9")


def test_the_accounts_own_resource_is_handed_over(account: Account, number: Number) -> None:
    assert owned(number, "number", number.id, account.id) is number


def test_what_does_not_exist_is_not_found(account: Account) -> None:
    with pytest.raises(NotFoundError, match="no number num_nothing"):
        owned(Number.find("num_nothing"), "number", "num_nothing", account.id)


def test_what_is_anothers_is_forbidden(account: Account, foreign: Number) -> None:
    with pytest.raises(ForbiddenError, match="different account"):
        owned(foreign, "number", foreign.id, account.id)


def test_a_filter_takes_the_accounts_own_numbers_only(
    account: Account, number: Number, foreign: Number
) -> None:
    check_numbers([], account.id)
    check_numbers([number.id], account.id)
    with pytest.raises(ForbiddenError, match=foreign.id) as forbidden:
        check_numbers([number.id, foreign.id], account.id)
    with pytest.raises(NotFoundError, match="num_nothing") as unknown:
        check_numbers([number.id, "num_nothing"], account.id)
    for caught in (forbidden, unknown):
        assert caught.value.details == Details(field="/numberIds/1")

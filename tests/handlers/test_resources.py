"""404 for a missing resource, 403 for one of another account."""

import pytest

from handlers.errors import ForbiddenError, NotFoundError
from handlers.resources import owned
from models.account import Account
from models.number import Number
from tests import factories


@pytest.fixture
def foreign(account: Account) -> Number:
    assert account.id
    return factories.active_number(Account.open("Rival", "pro"), "9")


def test_the_accounts_own_resource_is_handed_over(account: Account, number: Number) -> None:
    assert owned(Number, number.id, account.id) == number


def test_what_does_not_exist_is_not_found(account: Account) -> None:
    with pytest.raises(NotFoundError, match="no number num_nothing"):
        owned(Number, "num_nothing", account.id)


def test_a_resource_of_another_account_is_forbidden(account: Account, foreign: Number) -> None:
    with pytest.raises(ForbiddenError, match="different account"):
        owned(Number, foreign.id, account.id)

"""404 for a missing resource, 403 for one of another account."""

import re

import pytest

from models.accounts.account import Account, owned
from models.errors import ConflictError, ForbiddenError, NotFoundError
from models.numbers.number import Number, NumberStatus
from networks.exceptions import ErrorDetails, NumberBannedError, NumberLostError, ThrottledError
from networks.registry import described
from services import business
from services.network_failures import REMEDIES, answer_to, require_active
from tests import factories


@pytest.fixture
def foreign(account: Account) -> Number:
    assert account.id
    return factories.active_number(Account.open("Rival", "pro"), "9")


def test_the_accounts_own_resource_is_handed_over(account: Account, number: Number) -> None:
    assert owned(Number, number.id, account.id) == number


def test_what_does_not_exist_is_not_found(account: Account) -> None:
    with pytest.raises(NotFoundError, match="num_nothing"):
        owned(Number, "num_nothing", account.id)


def test_a_resource_of_another_account_is_forbidden(account: Account, foreign: Number) -> None:
    with pytest.raises(ForbiddenError, match="different account"):
        owned(Number, foreign.id, account.id)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (NumberStatus.PROVISIONING, None),
        (NumberStatus.DISCONNECTED, None),
        (NumberStatus.DISCONNECTED, "DELETED"),
        (NumberStatus.BANNED, "SPAM"),
    ],
)
def test_the_error_of_an_inactive_number_says_what_to_do(
    number: Number, status: NumberStatus, reason: str | None
) -> None:
    number.status, number.reason = status, reason
    with pytest.raises(ConflictError) as error:
        require_active(number, "send")
    message = error.value.message
    assert set(re.findall(r"\w+", message)) >= {number.id, status, reason or number.id}
    assert message.endswith(f" {REMEDIES[status]}")


@pytest.mark.parametrize(
    ("status", "error", "remedy"),
    [
        (NumberStatus.DISCONNECTED, NumberLostError("190", "Expired."), "a new signup link."),
        (
            NumberStatus.BANNED,
            NumberBannedError("131031", "Locked."),
            "Appeal in WhatsApp Manager.",
        ),
    ],
)
def test_a_reason_that_says_what_to_do_is_not_repeated(
    number: Number, status: NumberStatus, error: NumberLostError | NumberBannedError, remedy: str
) -> None:
    number.status, number.reason = status, described(error)
    with pytest.raises(ConflictError) as refused:
        require_active(number, "send")
    assert refused.value.message.count(remedy) == 1


@pytest.mark.parametrize(
    ("asked", "seconds"), [(None, 60), (0, 1), (7, 7), (3600, 3600), (100_000, 3600)]
)
def test_a_client_waits_as_long_as_the_network_asks_but_an_hour_at_most(
    number: Number, asked: int | None, seconds: int
) -> None:
    error = ThrottledError("4", "Slower.")
    error.details = ErrorDetails(retry_after=asked)
    answer = answer_to(number, business.LISTING, error)
    assert (answer.retry_after, answer.details) == (seconds, {"networkCode": 4})

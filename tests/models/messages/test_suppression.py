"""The latest statement about each identifier of a person."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.messages.contact import Source
from models.messages.suppression import EVERYWHERE, Statement, Suppression

PHONE, ID = "15551234567", "US.1001"


def record(account: Account, *people: str, out: bool, at: int) -> None:
    """Record a statement that changes none of a later second."""
    with writing():
        fresh = Account.get_by_id(account.id)
        said = Statement(out, EVERYWHERE, Source.WORD, at)
        Suppression.record(fresh, people, said, later_stays=True)


def suppressed() -> set[str | None]:
    return {row.person for row in Suppression.select() if row.is_out}


@pytest.mark.parametrize(
    ("latest", "at", "is_recorded"), [(5_000, 4_999, False), (5_999, 5_000, True)]
)
def test_a_statement_stays_if_it_is_of_a_later_second(
    account: Account, latest: int, at: int, *, is_recorded: bool
) -> None:
    record(account, PHONE, out=True, at=1_000)
    record(account, PHONE, out=False, at=latest)
    record(account, PHONE, ID, out=True, at=at)
    assert suppressed() == ({PHONE, ID} if is_recorded else {ID})

"""Prepared queries about lists mean exactly the values of the list, however many there are."""

from collections.abc import Sequence

import pytest

from models.account import Account
from models.database import reading, writing
from models.database.prepared_list import PreparedList, PreparedListSelect, PreparedRows

pytestmark = pytest.mark.usefixtures("state")

COUNTS = (1, 2, 3, 4, 5, 7, 8, 9)
FIND = PreparedListSelect(Account, lambda ids: Account.select().where(Account.id.in_(ids)))
RENAME = PreparedList(lambda ids, name: Account.update(name=name).where(Account.id.in_(ids)), 1)
ROWS = PreparedRows(Account, ("id", "name", "plan", "created_at"))


def _write(count: int) -> Sequence[str]:
    ids = [f"acc_{count}_{number}" for number in range(count)]
    with writing():
        ROWS.write([(id_, f"named {id_}", "pro", 7) for id_ in ids])
    return ids


@pytest.mark.parametrize("count", COUNTS)
def test_as_many_rows_are_written_as_are_given(count: int) -> None:
    ids = _write(count)
    found = {account.id: account.name for account in Account.all()}
    assert {id_: name for id_, name in found.items() if id_ in ids} == {
        id_: f"named {id_}" for id_ in ids
    }
    assert len([id_ for id_ in found if id_.startswith(f"acc_{count}_")]) == count


@pytest.mark.parametrize("count", COUNTS)
def test_those_of_the_list_are_found_once_and_no_others(count: int) -> None:
    ids = _write(count)
    _write(10)
    with reading():
        assert sorted(account.id for account in FIND.all(ids)) == sorted(ids)


@pytest.mark.parametrize("count", COUNTS)
def test_those_of_the_list_are_changed_and_no_others(count: int) -> None:
    ids, others = _write(count), _write(10)
    with writing():
        assert RENAME.run(ids, "renamed") == count
    names = {account.id: account.name for account in Account.all()}
    assert {names[id_] for id_ in ids} == {"renamed"}
    assert "renamed" not in {names[id_] for id_ in others}


def test_no_rows_are_written_as_nothing() -> None:
    before = len(Account.all())
    with writing():
        ROWS.write([])
    assert len(Account.all()) == before

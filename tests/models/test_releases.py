"""A database of an earlier release is migrated to the schema of a new one, and keeps all its rows."""

import re
from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from contract_tests.backends import empty_state
from contract_tests.releases.build import OLDEST, POSTGRESQL, build, schema_file
from contract_tests.stored import LOCK_FILE, QUEUE_TABLES, Stored
from models import database
from models.accounts.account import Account
from models.database import engine
from models.file_lock import lock_within
from models.messages.suppression import Suppression

# Each of them breaks a release that runs on the same database. A release needs no index to run.
REMOVING = re.compile(
    r"\b(DROP(?! INDEX)|RENAME|SET NOT NULL|ALTER COLUMN \w+ TYPE)\b|drop_(?!index)|rename_"
)
# Written by the database itself.
INTERNAL = re.compile(r"sqlite_|search_words_")

pytestmark = pytest.mark.usefixtures("state")


def _empty(folder: Path) -> str:
    return empty_state().get("GATEWAY_DATABASE_URL", f"sqlite://{folder}/gateway.db")


def _tables() -> list[str]:
    with database.reading():
        found: list[str] = database.database.get_tables()
    return [name for name in found if not INTERNAL.match(name) and name not in QUEUE_TABLES]


def _rows() -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables, by the names of their columns."""
    found = {}
    with database.reading():
        for table in _tables():
            cursor = database.database.execute_sql(f'SELECT * FROM "{table}"')  # noqa: S608 - its own names
            names = [column[0] for column in cursor.description]
            found[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return found


def _described() -> dict[str, Any]:
    """The tables of a database, with their columns and indexes."""
    connected = database.database
    kinds = {"BIGINT": "INTEGER"} if database.answers_at_once() else {}
    found = {}
    with database.reading():
        for table in _tables():
            columns = {
                (c.name, kinds.get(c.data_type.upper(), c.data_type.upper()), c.null)
                for c in connected.get_columns(table)
            }
            indexes = {(i.name, tuple(i.columns), i.unique) for i in connected.get_indexes(table)}
            found[table] = (columns, indexes)
    return found


def _applied() -> set[str]:
    """The names of the migrations of the oldest release."""
    return set(re.findall(r"'(\d{4}_\w+)'", schema_file(OLDEST, POSTGRESQL).read_text()))


def test_all_rows_of_the_oldest_release_are_kept(tmp_path: Path) -> None:
    url = _empty(tmp_path)
    build(url)
    connected = database.connect(url)
    before = _rows()
    assert all(before.values()), [table for table, rows in before.items() if not rows]
    pending = database.pending_migrations()
    assert database.migrate() == pending
    assert database.migrate() == []
    after = _rows()
    del before["schema_migration"]
    for table, rows in before.items():
        kept = [{name: row[name] for name in rows[0]} for row in after[table]]
        assert kept == rows, table
    connected.close()


def test_the_creators_of_earlier_keys_are_found_in_the_audit_log(tmp_path: Path) -> None:
    url = _empty(tmp_path)
    build(url)
    connected = database.connect(url)
    creators = {"usr_2": "'developer'", "usr_gone": None}
    with database.writing():
        for number, user in enumerate(creators, 2):
            if role := creators[user]:
                _copy("user", user, email=f"'{user}'", role=role)
            _copy("api_key", f"key_{number}", digest=f"'{number}'")
            _copy("audit", f"aud_{number}", user_id=f"'{user}'", subject=f"'key_{number}'")
        _copy("api_key", "key_4", digest="'4'")
    database.migrate()
    found = {row["id"]: row["created_by"] for row in _rows()["api_key"]}
    assert found == {"key_1": "owner", "key_2": "developer", "key_3": None, "key_4": "operator"}
    connected.close()


def test_the_opt_outs_of_an_earlier_release_hold_for_the_account(tmp_path: Path) -> None:
    url = _empty(tmp_path)
    build(url)
    connected = database.connect(url)
    with database.reading():
        [(number_id, account_id, phone, at)] = connected.execute_sql(
            "SELECT number_id, account_id, phone, opted_out_at FROM contact"
        ).fetchall()
    names = {"phone_number_id": "'1002'", "phone_number": "'15550002'"}
    with database.writing():
        _copy("number", "num_2", first=number_id, **names)
        changes: dict[str, str | None] = {
            "number_id": "'num_2'",
            "user_id": None,
            "opted_out_at": None,
        }
        _copy("contact", "ctc_2", first=_rows()["contact"][0]["id"], **changes)
    database.migrate()
    assert [row["opted_out_at"] for row in _rows()["contact"]] == [at, at]
    known = Suppression.known(Account.get_by_id(account_id), [phone, "US.1"])
    found = sorted((row.person, row.number_id, row.at, row.source, row.is_out) for row in known)
    assert found == [(phone, "", at, "word", True), ("US.1", "", at, "word", True)]
    connected.close()


def test_the_opt_outs_of_an_earlier_release_hold_for_all_identifiers_of_a_person(
    tmp_path: Path,
) -> None:
    url = _empty(tmp_path)
    build(url)
    connected = database.connect(url)
    [first] = _rows()["contact"]
    given, chain = (
        {"merged_into": f"'{first['id']}'", "user_id": None, "opted_out_at": None},
        "'US.7'",
    )
    with database.writing():
        for digit in (2, 3):
            names = {"phone_number_id": f"'{digit}'", "phone_number": f"'1555000{digit}'"}
            _copy("number", f"num_{digit}", first=first["number_id"], **names)
        # The network corrected 5215512345678 to the first contact's phone number. The second contact has the
        # given one and a user id, and another one corrected. The third contact has the user id.
        _copy("contact", "ctc_1", first=first["id"], phone="'5215512345678'", **given)
        _copy(
            "contact",
            "ctc_2",
            first=first["id"],
            phone="'5215512345678'",
            number_id="'num_2'",
            user_id=chain,
            opted_out_at=None,
        )
        _copy(
            "contact",
            "ctc_4",
            first=first["id"],
            phone="'54911'",
            number_id="'num_2'",
            **given | {"merged_into": "'ctc_2'"},
        )
        _copy(
            "contact",
            "ctc_3",
            first=first["id"],
            phone=None,
            number_id="'num_3'",
            user_id=chain,
            opted_out_at=None,
        )
        _copy(
            "contact",
            "ctc_5",
            first=first["id"],
            phone="'54911'",
            number_id="'num_3'",
            user_id="'US.8'",
            opted_out_at=None,
        )
        # A send to the given phone number led to the sixth contact too. Nothing leads to the eighth.
        third = {"number_id": "'num_3'", "opted_out_at": None}
        _copy("contact", "ctc_6", first=first["id"], phone=None, user_id="'US.9'", **third)
        given |= {"merged_into": "'ctc_6'", "number_id": "'num_3'"}
        _copy("contact", "ctc_7", first=first["id"], phone="'5215512345678'", **given)
        _copy("contact", "ctc_8", first=first["id"], phone="'15559'", user_id="'US.10'", **third)
    database.migrate()
    left = {row["id"] for row in _rows()["contact"] if row["opted_out_at"] is None}
    assert left == {"ctc_1", "ctc_4", "ctc_7", "ctc_8"}
    with database.reading():
        people = {row.person for row in Suppression.select()}
    assert people == {first["phone"], "US.1", "5215512345678", "US.7", "54911", "US.8", "US.9"}
    connected.close()


def _copy(table: str, new_id: str, first: str | None = None, **changes: str | None) -> None:
    """Insert a copy of the table's first row with other values, as SQL. A value of None is null."""
    quoted = {column.name: f'"{column.name}"' for column in database.database.get_columns(table)}
    values = quoted | {"id": f"'{new_id}'"} | changes
    chosen = ", ".join("NULL" if values[name] is None else str(values[name]) for name in quoted)
    columns = ", ".join(quoted.values())
    first = f"'{first}'" if first else "'usr_1', 'key_1', 'aud_1'"
    query = (
        f'INSERT INTO "{table}" ({columns}) SELECT {chosen} FROM "{table}" WHERE id IN ({first})'  # noqa: S608 - its own names
    )
    database.database.execute_sql(query)


def test_a_migrated_database_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    url = _empty(tmp_path / "old")
    build(url)
    older = database.connect(url)
    database.migrate()
    migrated = _described()
    older.close()
    new = database.connect(_empty(tmp_path / "new"))
    database.migrate()
    assert migrated == _described()
    new.close()


def test_the_oldest_release_finds_all_its_migrations_in_a_new_database(tmp_path: Path) -> None:
    new = database.connect(_empty(tmp_path))
    assert _applied() <= set(database.migrate())
    with database.reading():
        assert _applied() <= set(Runner(new, str(engine.MIGRATIONS)).applied())
    new.close()


def test_a_migration_that_removes_something_says_so_in_its_name() -> None:
    paths = [path for path in engine.MIGRATIONS.glob("[0-9]*.py") if path.stem not in _applied()]
    silent = [path.stem for path in paths if not engine.CONTRACTING.match(path.stem)]
    assert [n for n in silent if REMOVING.search((engine.MIGRATIONS / f"{n}.py").read_text())] == []


def test_only_a_later_migration_that_removes_something_is_incompatible(tmp_path: Path) -> None:
    connected = database.connect(_empty(tmp_path))
    database.migrate()
    history = Runner(connected, str(engine.MIGRATIONS)).History
    with database.writing():
        history.create(name="9998_columns_of_a_later_release")
    assert database.incompatible_migrations() == []
    with database.writing():
        history.create(name="9999_contract_columns")
    assert database.incompatible_migrations() == ["9999_contract_columns"]
    connected.close()


@pytest.mark.sqlite("a transaction that has read cannot write once another writer has committed")
def test_a_migration_keeps_other_writers_out(state: Stored) -> None:
    with (state.folder / LOCK_FILE).open("w") as lock:
        with database.database.obj.migrating():
            assert not lock_within(0.01, lock.fileno())
        assert lock_within(0.01, lock.fileno())

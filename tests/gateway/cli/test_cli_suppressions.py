"""``gateway suppressions``: the list on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from models.accounts.account import Account
from models.messages.suppression import Suppression

PHONE, ID = "15551234567", "US.1001"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["suppressions", *arguments, "--json"])


def _printed(*arguments: str) -> Any:
    done = _run(*arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_person_is_added_listed_and_removed(account: Account) -> None:
    made = _printed("add", account.id, PHONE, "--reason", "asked")
    assert (made["person"], made["source"], made["reason"]) == (PHONE, "api", "asked")
    _printed("add", account.id, ID)
    assert [each["person"] for each in _printed("list", account.id)] == [ID, PHONE]
    assert _printed("list", account.id, "--person", PHONE) == [made]
    assert _printed("remove", made["id"]) == {"id": made["id"], "removed": True}
    assert [each["person"] for each in _printed("list", account.id)] == [ID]


def test_a_list_goes_from_one_account_to_another(account: Account, tmp_path: Path) -> None:
    other, file = Account.open("Other", "pro"), tmp_path / "list.csv"
    _printed("add", account.id, PHONE)
    assert _printed("export", account.id, str(file)) == {"id": account.id, "file": str(file)}
    imported = {"id": other.id, "rows": 1, "added": 1, "known": 0}
    assert _printed("import", other.id, str(file)) == imported


@pytest.mark.parametrize("person", [("+1 555",), (PHONE, "--number", "num_none")])
def test_a_wrong_person_or_number_is_refused(account: Account, person: tuple[str, ...]) -> None:
    assert _run("add", account.id, *person).exit_code in {1, 2}
    assert Suppression.count(account.id) == 0


def test_a_reason_is_in_one_line_and_as_long_as_an_import_takes(
    account: Account, tmp_path: Path
) -> None:
    assert _run("add", account.id, PHONE, "--reason", "x" * 201).exit_code == 2
    assert Suppression.count(account.id) == 0
    made = _printed("add", account.id, PHONE, "--reason", f" {'x' * 99}\n{'y' * 100} ")
    assert made["reason"] == f"{'x' * 99} {'y' * 100}"
    file = tmp_path / "list.csv"
    _printed("export", account.id, str(file))
    assert _printed("import", account.id, str(file))["known"] == 1


def test_a_list_fits_into_80_columns(account: Account) -> None:
    _printed("add", account.id, "US.13491208655302741918", "--reason", "asked by phone")
    done = CliRunner().invoke(cli, ["suppressions", "list", account.id])
    assert "US.13491208655302741918" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_wrong_file_or_suppression_is_refused(account: Account, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("person\nAnna\n")
    assert _run("import", account.id, str(file)).exit_code == 1
    assert _run("import", account.id, str(tmp_path / "none.csv")).exit_code == 2
    assert _run("remove", "sup_none").exit_code == 1

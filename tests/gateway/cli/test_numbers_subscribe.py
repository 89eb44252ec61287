"""``gateway numbers subscribe``: subscribes to the callbacks about one number, or all with problems."""

import json

import pytest
from click.testing import CliRunner, Result

from contract_tests.stored import Stored
from gateway.cli import cli
from models.accounts.account import Account
from models.database import writing
from models.numbers.number import Number, NumberStatus
from networks.exceptions import NotReachedError
from services import callback_routes, number_checks
from tests import factories

PROBLEMS = json.dumps([{"code": "fields_missing", "detail": "x_update, y"}])


@pytest.fixture(autouse=True)
def restored(state: Stored, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The platform's identifiers of the numbers that are subscribed again. It refuses 1002."""
    assert state.environment
    found: list[str] = []

    def restore(number: Number) -> None:
        if number.phone_number_id == "1002":
            raise NotReachedError("unreachable", "The network is away.")
        found.append(number.phone_number_id)

    def check(number: Number) -> None:
        with writing():
            number.update_details(problems_json="[]")

    monkeypatch.setattr(callback_routes, "restore", restore)
    monkeypatch.setattr(number_checks, "check_callbacks", check)
    return found


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["numbers", "subscribe", *arguments])


def _numbers(account: Account) -> list[Number]:
    """A disconnected one, two active ones and one without problems. Two of them have the same problem."""
    made = [
        factories.active_number(
            account, f"100{place}", phone_number=f"1555000{place}{place}{place}2"
        )
        for place in range(1, 5)
    ]
    for number in made[:3]:
        with writing():
            number.update_details(problems_json=PROBLEMS)
    Number.update(status=NumberStatus.DISCONNECTED).where(Number.id == made[0].id).execute()
    return made


def test_all_continues_after_a_number_that_fails(account: Account, restored: list[str]) -> None:
    _, away, fine, _ = _numbers(account)
    done = _run("--all", "--json")
    assert (done.exit_code, restored) == (1, ["1003"])
    rows = json.loads(done.stdout)
    assert {row["id"]: len(row["problems"]) for row in rows} == {away.id: 1, fine.id: 0}
    assert away.id in done.stderr
    lines = _run("--all").stdout.splitlines()
    assert "  fields_missing: " in lines[1]
    assert max(map(len, lines)) <= 80


def test_a_number_that_is_not_active_is_refused(account: Account, restored: list[str]) -> None:
    gone, *_ = _numbers(account)
    done = _run(gone.id)
    assert (done.exit_code, restored) == (1, [])
    assert "DISCONNECTED" in done.stderr


def test_a_number_or_all_is_named() -> None:
    assert _run().exit_code == _run("num_0", "--all").exit_code == 2

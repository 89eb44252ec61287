"""``gateway numbers notices``: the platform's notices, for the operator."""

import json

import pytest
from click.testing import CliRunner

from contract_tests.stored import Stored
from gateway.cli import cli
from models.accounts.account import Account
from models.database import writing
from models.numbers.number import Number, NumberAlias
from tests import factories

VIOLATION = {"event": "ACCOUNT_VIOLATION", "violation_info": {"violation_type": "ADULT"}}
AT = 1_795_000_000_000


@pytest.fixture(autouse=True)
def told(number: Number, state: Stored) -> None:
    assert state.environment
    factories.notice("account_update", VIOLATION, at=AT)
    quality = {"event": "DOWNGRADE", "display_phone_number": "15550001111"}
    factories.notice("phone_number_quality_update", quality, number.phone_number, AT + 1000)


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["numbers", "notices", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_notices_are_listed_newest_first(number: Number) -> None:
    quality, violation = json.loads(_run("--json"))
    assert (quality["event"], quality["numberId"]) == ("DOWNGRADE", number.id)
    assert violation | {"id": ""} == {
        "id": "",
        "createdAt": "2026-11-18T11:06:40.000Z",
        "wabaId": "2001",
        "numberId": None,
        "field": "account_update",
        "event": "ACCOUNT_VIOLATION ADULT",
        "value": VIOLATION,
    }


def test_notices_of_a_number_include_those_of_its_account(account: Account, number: Number) -> None:
    other = factories.active_number(account, "1002", phone_number="15550002222")
    with writing():
        NumberAlias.note(number, "num_01M8MDZ34JC2PAE3RTPZPK7G1C", None)
    for each in (number.id, "num_01M8MDZ34JC2PAE3RTPZPK7G1C"):
        assert len(json.loads(_run(each, "--json"))) == 2
    assert [n["event"] for n in json.loads(_run(other.id, "--json"))] == ["ACCOUNT_VIOLATION ADULT"]


def test_a_person_reads_a_table_that_fits_a_terminal() -> None:
    lines = _run().splitlines()
    assert lines[0].split() == ["CREATED", "(UTC)", "WABA", "ID", "NUMBER", "ID", "EVENT"]
    assert max(map(len, lines)) <= 100
    assert "ACCOUNT_VIOLATION" in lines[2]


def test_a_missing_number_is_an_error() -> None:
    done = CliRunner().invoke(cli, ["numbers", "notices", "num_0"])
    assert done.exit_code == 1
    assert "num_0" in done.stderr

"""``gateway signup-links create``: links cannot be guessed unless the operator sets an exact slug."""

import json
import re

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from models.accounts.account import Account
from models.numbers.signup import SignupLink

pytestmark = pytest.mark.usefixtures("state")


def _create(account_id: str, *arguments: str, typed: str = "") -> Result:
    command = ["signup-links", "create", account_id, *arguments]
    return CliRunner().invoke(cli, command, input=typed)


def test_a_link_ends_with_eighty_random_bits(account: Account) -> None:
    done = [_create(account.id, "--slug", "acme", "--json") for _ in range(2)]
    first, second = (json.loads(each.stdout) for each in done)
    assert list(first) == ["id", "slug", "url", "createdAt"]
    for made in (first, second):
        assert re.fullmatch(r"acme-[a-z2-7]{16}", made["slug"])
        assert made["url"].endswith(f"/connect/{made['slug']}")
    assert first["slug"] != second["slug"]


def test_an_exact_name_needs_a_confirmation(account: Account) -> None:
    exact = ("--slug", "acme", "--exact", "--json")
    for typed in ("n\n", "\n", ""):
        refused = _create(account.id, *exact, typed=typed)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "Anybody who guesses it" in refused.stderr
    assert SignupLink.all() == []
    done = _create(account.id, *exact, typed="y\n")
    assert json.loads(done.stdout)["slug"] == "acme"


def test_a_script_confirms_an_exact_name_by_an_option(account: Account) -> None:
    exact = ("--slug", "acme", "--exact", "--yes", "--json")
    done = _create(account.id, *exact)
    assert (json.loads(done.stdout)["slug"], done.stderr) == ("acme", "")
    taken = _create(account.id, *exact)
    assert (taken.exit_code, taken.stdout) == (1, "")
    assert "409 CONFLICT" in taken.stderr
    assert " acme " in taken.stderr


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("a" * 47, [], 46),
        ("-acme", [], 46),
        ("", [], 46),
        ("a b", [], 46),
        ("a" * 64, ["--exact", "--yes"], 63),
        ("-acme", ["--exact", "--yes"], 63),
    ],
)
def test_a_name_that_makes_no_slug_is_wrong_usage(
    account: Account, name: str, options: list[str], most: int
) -> None:
    refused = _create(account.id, "--slug", name, *options)
    assert refused.exit_code == 2
    assert f"1 to {most} letters, digits and hyphens" in refused.stderr
    assert SignupLink.all() == []


@pytest.mark.parametrize(("length", "options"), [(46, []), (63, ["--exact", "--yes"])])
def test_the_longest_name_fits(account: Account, length: int, options: list[str]) -> None:
    made = _create(account.id, "--slug", "a" * length, "--json", *options)
    assert len(json.loads(made.stdout)["slug"]) == 63

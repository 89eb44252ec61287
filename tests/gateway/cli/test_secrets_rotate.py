"""``gateway secrets rotate``: what it prints, and when it fails."""

import json

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from models.accounts import rotation, secret
from models.accounts.account import Account
from tests import factories
from tests.conftest import Configure

OLD, NEW = "test-key-as-long-as-a-real-one-is", "another-key"
WIDTH = 80

pytestmark = pytest.mark.usefixtures("number")


def _run(*options: str) -> Result:
    return CliRunner().invoke(cli, ["secrets", "rotate", *options])


def test_the_keys_that_are_no_longer_used_are_named(configure: Configure) -> None:
    configure(SECRET_KEY=f"{NEW},{OLD},older-key")
    first, again = _run("--json"), _run("--json")
    assert (first.stderr, again.stderr) == ("", "")
    done = {"secrets": 2, "rotated": 2, "unreadable": 0, "unusedKeys": [2, 3]}
    assert json.loads(first.stdout) == done
    assert json.loads(again.stdout) == done | {"rotated": 0}
    result = _run()
    assert "keys 2, 3" in result.stdout
    assert max(map(len, result.output.splitlines())) <= WIDTH


def test_a_secret_that_fits_no_key_is_an_error_and_the_others_are_rotated(
    configure: Configure, account: Account
) -> None:
    secret.use_keys("a third key")
    factories.webhook(account)
    configure(SECRET_KEY=f"{NEW},{OLD}")
    result = _run("--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["rotated"] == 2
    assert json.loads(result.stdout)["unreadable"] == 1
    assert result.stderr.startswith("Error: 1 of 3 secrets ")


def test_a_process_that_still_encrypts_with_the_old_key_is_an_error(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(SECRET_KEY=f"{NEW},{OLD}")
    monkeypatch.setattr(rotation, "rotate", lambda: [rotation.Keys([0, 1])])
    result = _run()
    assert result.exit_code == 1
    assert "Restart all processes" in result.stderr

"""Commands that tests run through the command server behave like separate programs."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract_tests.backends import state_of
from contract_tests.commands import FIRST_ID, command_server

OPENING = ("accounts", "create", "Acme", "--plan", "pro")


def _environment(folder: Path) -> Mapping[str, str]:
    return os.environ | state_of(folder) | {"GATEWAY_DATA_DIR": str(folder / "var")}


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """The data folder of an empty service."""
    found = _environment(tmp_path)
    command_server().run([("migrate",)], found, tmp_path)
    return found


def test_a_later_command_can_use_the_first_ones_identifier(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    commands = [OPENING, ("keys", "create", FIRST_ID), ("keys", "list")]
    account, key, keys = command_server().run(commands, environment, tmp_path)
    assert [(each["id"], each["accountId"]) for each in keys] == [(key["id"], account["id"])]


def test_each_command_has_its_own_environment(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    both = [("migrate",), ("accounts", "list")]
    command_server().run([OPENING], environment, tmp_path)
    assert command_server().run(both, _environment(elsewhere), elsewhere)[1] == []
    assert len(command_server().run([("accounts", "list")], environment, tmp_path)[0]) == 1


def test_a_failed_command_shows_its_error_and_ends_the_sequence(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    commands = [("keys", "create", "acc_lost"), OPENING]
    with pytest.raises(AssertionError, match="acc_lost"):
        command_server().run(commands, environment, tmp_path)
    assert command_server().run([("accounts", "list")], environment, tmp_path) == [[]]


def test_wrong_usage_shows_an_error(environment: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="No such command 'acounts'"):
        command_server().run([("acounts", "list")], environment, tmp_path)


def test_threads_run_commands_side_by_side(environment: Mapping[str, str], tmp_path: Path) -> None:
    def create(_: int) -> str:
        [made] = command_server().run([OPENING], environment, tmp_path)
        return str(made["id"])

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(create, range(8)))
    [listed] = command_server().run([("accounts", "list")], environment, tmp_path)
    assert {account["id"] for account in listed} == made
    assert len(made) == 8

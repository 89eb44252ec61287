"""The commands of ``gateway``, each imported only when it is asked for."""

import importlib
import pkgutil
import subprocess
import sys

import click
from click.testing import CliRunner

from gateway import cli as commands
from gateway.cli import MODULES, cli

PRINT_IMPORTED = """
import sys
from gateway.cli import cli

cli.main(["keys", "--help"], standalone_mode=False)
print("\\n" + " ".join(name for name in sys.modules if name.startswith("gateway.cli.")))
"""


def test_every_command_of_a_module_is_found_under_its_name() -> None:
    found: dict[str | None, str] = {}
    below = set[click.Command]()
    for module in pkgutil.iter_modules(commands.__path__):
        made = vars(importlib.import_module(f"gateway.cli.{module.name}")).values()
        made_here = [each for each in made if isinstance(each, click.Command)]
        below |= {each for group in made_here for each in getattr(group, "commands", {}).values()}
        found |= {each.name: module.name for each in made_here if each not in below}
    assert found == MODULES


def test_a_command_does_not_import_what_only_others_need() -> None:
    script = [sys.executable, "-c", PRINT_IMPORTED]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=30)
    imported = set(done.stdout.splitlines()[-1].split())
    assert "gateway.cli.accounts" in imported
    assert not imported & {
        f"gateway.cli.{name}" for name in ("callbacks", "doctor", "webhooks", "up")
    }


def test_a_misspelt_command_is_told_which_one_is_near() -> None:
    result = CliRunner().invoke(cli, ["acounts"])
    assert result.exit_code == 2
    assert "Did you mean 'accounts'?" in result.output

"""The commands of ``gateway``, each imported only when it runs."""

import importlib
import pkgutil
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gateway import cli as commands
from gateway.cli import MODULES, cli

# CPU time, user and system. It was under 0.1 s when this limit was set.
HELP_SECONDS = 0.3
# What takes most of the time and memory of an import.
DATABASE = ("peewee", "psycopg", "redis", "huey", "cryptography")
NETWORK = ("aiohttp", "prometheus_client", "opentelemetry", "requests")
PAGES = ("connexion", "flask", "starlette", "uvicorn", "jinja2", "jsonschema_rs", "yaml")
PRINT_IMPORTED = """
import sys
from gateway.cli import cli

cli.main(sys.argv[1:], standalone_mode=False)
print("\\n" + " ".join(sys.modules))
"""
# A command that prints whether the collector runs, and whether it skips the modules.
PRINT_COLLECTOR = """
import gc, sys, types
import click
from gateway import cli

@click.command()
def probe():
    click.echo(f"{gc.isenabled()} {gc.get_freeze_count() > 0}")

module = sys.modules["gateway.cli.probe"] = types.ModuleType("gateway.cli.probe")
module.probe = probe
cli.MODULES["probe"] = ("probe", "")
sys.argv = ["gateway", "probe"]
cli.main()
"""


def _imported_by(*arguments: str) -> set[str]:
    script = [sys.executable, "-c", PRINT_IMPORTED, *arguments]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=30)
    return set(done.stdout.splitlines()[-1].split())


def test_every_command_of_a_module_is_found_under_its_name_with_its_line_of_help() -> None:
    found: dict[str | None, tuple[str, str]] = {}
    below = set[click.Command]()
    for module in pkgutil.iter_modules(commands.__path__):
        made = vars(importlib.import_module(f"gateway.cli.{module.name}")).values()
        made_here = [each for each in made if isinstance(each, click.Command)]
        below |= {each for group in made_here for each in getattr(group, "commands", {}).values()}
        found |= {
            each.name: (module.name, each.get_short_help_str(limit=60))
            for each in made_here
            if each not in below
        }
    assert found == MODULES


def test_a_command_does_not_import_what_only_others_need() -> None:
    imported = _imported_by("keys", "--help")
    assert "gateway.cli.accounts" in imported
    assert not imported & {
        f"gateway.cli.{name}" for name in ("callbacks", "doctor", "webhooks", "up")
    }


def test_help_imports_neither_the_database_nor_the_server() -> None:
    imported = _imported_by("--help")
    assert not imported & {"peewee", "models", "connexion", "pydantic", "aiohttp", "requests"}


def test_the_supervisor_imports_nothing_of_what_its_parts_serve() -> None:
    imported = _imported_by("up", "--help")
    assert "gateway.cli.supervisor" in imported
    assert not imported & {*DATABASE, *NETWORK, *PAGES, "models.database", "services", "tasks"}


def test_the_worker_imports_neither_the_contract_nor_the_pages() -> None:
    imported = _imported_by("worker", "--help")
    assert "gateway.worker" in imported
    assert not imported & {*PAGES, "dashboard", "gateway.api"}


def test_help_takes_little_of_the_processor() -> None:
    command = [str(Path(sys.executable).with_name("gateway")), "--help"]
    subprocess.run(
        command, capture_output=True, check=True, timeout=30
    )  # Compiled by the first call.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert took < HELP_SECONDS


def test_the_garbage_collector_runs_again_when_a_command_starts() -> None:
    script = [sys.executable, "-c", PRINT_COLLECTOR]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "True True\n"


def test_help_fits_a_terminal_of_80_columns() -> None:
    for name in ((), *((name,) for name in MODULES)):
        lines = CliRunner().invoke(cli, [*name, "--help"]).output.splitlines()
        assert max(map(len, lines)) <= 80, name


@pytest.mark.parametrize("arguments", [["accounts", "list"], ["webhooks", "list"], ["doctor"]])
def test_a_command_that_reads_makes_nothing_in_an_empty_folder(
    arguments: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(commands.__path__[0]).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 1
    assert "There is no" in done.stdout + done.stderr
    assert str(tmp_path / "var") in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_command_suggests_the_nearest_one() -> None:
    result = CliRunner().invoke(cli, ["wehooks"])
    assert result.exit_code == 2
    assert "Did you mean 'webhooks'?" in result.output

"""Options that take a time."""

import click
import pytest
from click.testing import CliRunner, Result

from gateway.cli.options import since_option, until_option

MIDNIGHT = 1_795_132_800_000


@click.command()
@since_option()
@until_option()
def between(since: int | None, until: int | None) -> None:
    click.echo(f"{since} {until}")


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(between, arguments)


def test_a_date_alone_is_its_midnight_in_utc() -> None:
    assert _run("--since", "2026-11-20").output == f"{MIDNIGHT} None\n"
    assert _run("--until", "2026-11-20T01:00:00+01:00").output == f"None {MIDNIGHT}\n"


@pytest.mark.parametrize("given", ["2026-11-31", "2026-1-1", "20261120", "2026-11-20T00:00", ""])
def test_an_invalid_time_is_a_usage_error(given: str) -> None:
    done = _run("--since", given)
    assert done.exit_code == 2
    assert "such as 2026-11-20" in done.stderr

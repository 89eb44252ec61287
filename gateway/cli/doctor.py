"""gateway doctor."""

import json
import shutil
import textwrap
from dataclasses import asdict

import click

from gateway.cli import running
from gateway.cli.output import json_option
from gateway.ops.doctor.examination import examine, examine_settings
from gateway.ops.doctor.finding import Check, State
from gateway.settings import get_settings, load_settings

COLOURS = {State.OK: "green", State.WARNING: "yellow", State.PROBLEM: "red"}
STATE_WIDTH, NAME_WIDTH = 9, 18


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Say what is wrong with this installation, and how to mend it.

    Looks at settings, data directory, key, database, queue, rate limits, worker, network and the way back
    from it; whether the service runs or not. Exit status 1 when there is a problem; warnings leave it at 0.
    """
    checks = examine_settings()
    if _is_well(checks):
        running.join(load_settings())
        checks += examine(get_settings())
    if as_json:
        click.echo(json.dumps({"ok": _is_well(checks), "checks": [asdict(c) for c in checks]}))
    else:
        _print(checks)
    context.exit(0 if _is_well(checks) else 1)


def _is_well(checks: list[Check]) -> bool:
    return all(check.state is not State.PROBLEM for check in checks)


def _print(checks: list[Check]) -> None:
    width = min(shutil.get_terminal_size().columns, 100)
    for check in checks:
        state = click.style(f"{check.state:<{STATE_WIDTH}}", fg=COLOURS[check.state])
        click.echo(f"{state}{check.name:<{NAME_WIDTH}}{_wrapped(check.found, width)}")
        if check.mend is not None:
            click.echo(f"{'':{STATE_WIDTH + NAME_WIDTH}}{_wrapped('-> ' + check.mend, width)}")
    click.echo(f"\n{_count(checks, State.PROBLEM)}, {_count(checks, State.WARNING)}.")


def _count(checks: list[Check], state: State) -> str:
    count = sum(check.state is state for check in checks)
    return f"{count} {state}{'' if count == 1 else 's'}"


def _wrapped(text: str, width: int) -> str:
    indent = STATE_WIDTH + NAME_WIDTH
    lines = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False)
    return f"\n{'':{indent}}".join(lines)


COMMANDS = (doctor,)

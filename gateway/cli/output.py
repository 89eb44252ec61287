"""What commands share: they open the state, find rows, and print a table or, with ``--json``, a document."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gateway.cli import running
from gateway.settings import Settings, get_settings, load_settings
from gateway.state import connect_state
from models.database import BaseModel, pending_migrations
from webhooks.envelope import timestamp

# The length of an ISO 8601 time down to the minute, all that a table has room for.
MINUTE = len("2026-11-20T09:30")
ACRONYMS = {"id", "url"}

Found = TypeVar("Found")
# One resource, or a list of them.
Printed = dict[str, Any] | list[dict[str, Any]]

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)


def prints(*columns: str) -> Callable[[Callable[..., Printed]], Callable[..., None]]:
    """Print what a command returns; a list as a table of ``columns``, which fit into 80 characters.

    The command gets the option ``--json``, and runs on the opened state.
    """

    def decorate(command: Callable[..., Printed]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*, as_json: bool, **given: Any) -> None:
            open_state()
            show(command(**given), *columns, as_json=as_json)

        decorated: Callable[..., None] = json_option(run)
        return decorated

    return decorate


def open_state() -> Settings:
    """Connect this command to the database and queue. Fails when the schema is not there yet."""
    running.join(load_settings())
    settings = get_settings()
    connect_state(settings)
    if pending_migrations():
        raise click.ClickException("The database is not migrated. Run: gateway migrate")
    return settings


def found(row: Found | None, kind: str, name: str) -> Found:
    """The row of this kind. Fails when there is none, and names the command that lists them."""
    if row is None:
        listing = f"gateway {kind.replace(' ', '-')}s list"
        raise click.ClickException(f"There is no {kind} {name}. See: {listing}")
    return row


def rendered(row: BaseModel, *names: str) -> dict[str, Any]:
    """Columns of a row by their names in JSON: ``createdAt`` is the column ``created_at``."""
    values = {name: getattr(row, _spelt(name, "_")) for name in names}
    return {
        name: timestamp(value) if name.endswith("At") and value is not None else value
        for name, value in values.items()
    }


def show(printed: Printed, *columns: str, as_json: bool) -> None:
    """Print one resource, or a list of them as a table of ``columns``."""
    if as_json:
        click.echo(json.dumps(printed))
    elif isinstance(printed, dict):
        width = max(len(name) for name in map(_label, printed))
        for name, value in printed.items():
            click.echo(f"{_label(name):<{width}}  {_text(value)}")
    elif printed:
        _print_table(printed, columns)
    else:
        click.echo("None.")


def _print_table(resources: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    heads = tuple(re.sub(r" AT$", " (UTC)", _spelt(column, " ").upper()) for column in columns)
    rows = [heads, *(tuple(_cell(c, r[c]) for c in columns) for r in resources)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())


def _spelt(name: str, separator: str) -> str:
    """The contract's spelling taken apart: ``phoneNumber`` is the phone number."""
    return re.sub(r"(?=[A-Z])", separator, name).lower()


def _label(name: str) -> str:
    label = _spelt(name, " ")
    return label.upper() if label in ACRONYMS else label.capitalize()


def _cell(name: str, value: Any) -> str:
    if name.endswith("At") and value is not None:
        return str(value)[:MINUTE].replace("T", " ")
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)

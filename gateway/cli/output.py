"""What commands share: they open the state, find rows, and print a table or one JSON document."""

import functools
import json
import logging
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from gateway.cli import running
from gateway.settings import Settings, get_settings, load_settings
from gateway.state import AwayError, connect_state, reach_database, reach_queue
from models.database import BaseModel, pending_migrations
from webhooks.envelope import timestamp

logger = logging.getLogger(__name__)

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


def open_state(*, may_be_away: bool = False) -> Settings:
    """Connect this command to the database and queue. Fails when migrations are pending.

    If their servers ``may_be_away``, one that is gets a line in the log, and is tried again at each use.
    """
    running.join(load_settings())
    settings = get_settings()
    connect_state(settings)
    try:
        reach_database()
        if pending_migrations():
            raise click.ClickException("The database is not migrated. Run: gateway migrate")
        reach_queue()
    except AwayError as error:
        if not may_be_away:
            raise
        logger.warning("started while a server is away: %s", error)
    return settings


def found(row: Found | None, kind: str, name: str) -> Found:
    """The row of this kind. Fails when there is none, and names the command that lists them."""
    if row is None:
        listing = f"gateway {kind.replace(' ', '-')}s list"
        raise click.ClickException(f"There is no {kind} {name}. See: {listing}")
    return row


def rendered(row: BaseModel, *names: str) -> dict[str, Any]:
    """Columns of a row by their names in JSON: ``createdAt`` is the column ``created_at``."""
    values = {name: getattr(row, _words(name).replace(" ", "_")) for name in names}
    return {
        name: timestamp(value) if name.endswith("At") and value is not None else value
        for name, value in values.items()
    }


def show(printed: Printed, *columns: str, as_json: bool) -> None:
    """Print one resource, or a list of them as a table of ``columns``."""
    if as_json:
        click.echo(json.dumps(printed))
    elif isinstance(printed, dict):
        _print_aligned([[_label(name), _text(value)] for name, value in printed.items()])
    elif printed:
        heads = [re.sub(r" AT$", " (UTC)", _words(column).upper()) for column in columns]
        _print_aligned([heads, *([_cell(c, row[c]) for c in columns] for row in printed)])
    else:
        click.echo("None.")


def _print_aligned(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


def _words(name: str) -> str:
    """The words of a name in JSON: ``phoneNumber`` is "phone number"."""
    return re.sub(r"(?=[A-Z])", " ", name).lower()


def _label(name: str) -> str:
    return name.upper() if name in {"id", "url"} else _words(name).capitalize()


def _cell(name: str, value: Any) -> str:
    """The text of a value in a table; a time without its seconds."""
    if name.endswith("At") and value is not None:
        return str(value)[: len("2026-11-20T09:30")].replace("T", " ")
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)

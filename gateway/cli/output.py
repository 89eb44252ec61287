"""Shared by the commands: printing a resource, a table or a JSON document, and finding rows.

Nothing here imports the database, because commands over the HTTP API do not need it.
"""

import functools
import json
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import click

from models.clock import timestamp

Found = TypeVar("Found")
# One resource, or a list of them.
Printed = dict[str, Any] | list[dict[str, Any]]
Decorator = Callable[[Callable[..., Printed]], Callable[..., None]]

GAP = "  "
# The least width of the last column, however wide the others are.
MIN_CUT = 5

json_option: Callable[[Callable[..., None]], Callable[..., None]] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)


def printed(
    opened: Callable[[], AbstractContextManager[Iterable[Any]]], *columns: str
) -> Decorator:
    """Print the result of a command. A list is a table of ``columns``, which fit into 80 characters.

    The command gets the option ``--json``. It runs in the context, whose values are its first arguments.
    """

    def decorate(command: Callable[..., Printed]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*, as_json: bool, **given: Any) -> None:
            with opened() as first:
                result = command(*first, **given)
            show(result, *columns, as_json=as_json)

        return json_option(run)

    return decorate


def prints(*columns: str) -> Decorator:
    """Print the result of a command that runs on the opened state."""

    def opened() -> AbstractContextManager[Iterable[Any]]:
        from gateway.cli.database import open_state  # noqa: PLC0415 - it imports the database

        open_state()
        return nullcontext(())

    return printed(opened, *columns)


def found(row: Found | None, kind: str, name: str) -> Found:
    """The row of this kind. Fails if it is missing, and names the command that lists such rows."""
    if row is None:
        listing = f"gateway {kind.replace(' ', '-')}s list"
        raise click.ClickException(f"There is no {kind} {name}. See: {listing}")
    return row


def rendered(row: object, *names: str) -> dict[str, Any]:
    """Columns of a row by their names in JSON: ``createdAt`` is the column ``created_at``."""
    values = {name: getattr(row, _words(name).replace(" ", "_")) for name in names}
    return {
        name: timestamp(value) if name.endswith("At") and value is not None else value
        for name, value in values.items()
    }


def show(printed: Printed, *columns: str, as_json: bool) -> None:
    """Print one resource, all of it or its ``columns``, or a list of resources as a table of them."""
    if as_json:
        click.echo(json.dumps(printed))
    elif isinstance(printed, dict):
        shown = {name: printed[name] for name in columns or printed}
        _print_aligned([[_label(name), _text(value)] for name, value in shown.items()])
    elif printed:
        heads = [re.sub(r" AT$", " (UTC)", _words(column).upper()) for column in columns]
        rows = [heads, *([_cell(c, row[c]) for c in columns] for row in printed)]
        *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
        # The last column is cut to the terminal's width.
        room = shutil.get_terminal_size().columns - sum(widths) - len(GAP) * len(widths)
        _print_aligned([[*row, cut(last, max(MIN_CUT, room))] for *row, last in rows])
    else:
        click.echo("None.")


def cut(text: str, room: int) -> str:
    """The text in one line, cut with an ellipsis if it is too long.

    Inbound text is untrusted: control characters must not reach the terminal.
    """
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= room else f"{line[: room - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _print_aligned(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(GAP.join(map(str.ljust, row, widths)).rstrip())


def _words(name: str) -> str:
    """The words of a name in JSON: ``phoneNumber`` is "phone number"."""
    return re.sub(r"(?=[A-Z])|_", " ", name).lower()


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
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, dict):
        return ": ".join(_text(each) for each in value.values() if each is not None)
    return "-" if value is None else str(value)

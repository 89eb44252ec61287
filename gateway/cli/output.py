"""How commands print: a table for people, or one JSON document with ``--json``."""

import json
import re
from collections.abc import Callable
from typing import Any

import click

from gateway.cli import running
from gateway.settings import Settings, get_settings, load_settings
from gateway.state import connect_state
from models.database import pending_migrations

# The length of an ISO 8601 time down to the minute, all that a table has room for.
MINUTE = len("2026-11-20T09:30")
ACRONYMS = {"id", "url"}

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)


def open_state() -> Settings:
    """Connect this command to the database and queue. Fails when the schema is not there yet."""
    running.join(load_settings())
    settings = get_settings()
    connect_state(settings)
    if pending_migrations():
        raise click.ClickException("The database is not migrated. Run: gateway migrate")
    return settings


def print_one(resource: dict[str, Any], *, as_json: bool) -> None:
    """Print one resource."""
    if as_json:
        click.echo(json.dumps(resource))
        return
    labels = [_label(name) for name in resource]
    width = max(len(label) for label in labels)
    for label, value in zip(labels, resource.values(), strict=True):
        shown = label.upper() if label in ACRONYMS else label.capitalize()
        click.echo(f"{shown:<{width}}  {_text(value)}")


def print_many(resources: list[dict[str, Any]], columns: tuple[str, ...], *, as_json: bool) -> None:
    """Print a list, as a table of these columns: few and short enough for 80 characters."""
    if as_json:
        click.echo(json.dumps(resources))
        return
    if not resources:
        click.echo("None.")
        return
    heads = tuple(_head(column) for column in columns)
    rows = [heads, *(tuple(_cell(c, r[c]) for c in columns) for r in resources)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    for row in rows:
        click.echo("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())


def _label(name: str) -> str:
    """The contract's spelling in words: ``phoneNumber`` is the phone number."""
    return re.sub(r"(?=[A-Z])", " ", name).lower()


def _head(name: str) -> str:
    label = _label(name).upper()
    return f"{label.removesuffix(' AT')} (UTC)" if label.endswith(" AT") else label


def _cell(name: str, value: Any) -> str:
    if name.endswith("At") and value is not None:
        return str(value)[:MINUTE].replace("T", " ")
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return "-" if value is None else str(value)

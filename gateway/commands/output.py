"""How commands print: a table for people, or one JSON document with ``--json``."""

import json
from collections.abc import Callable
from typing import Any

import click

from gateway.settings import Settings, get_settings
from gateway.state import connect_state
from models.database import pending_migrations

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)


def open_state() -> Settings:
    """Connect this command to the database and queue. Fails when the schema is not there yet."""
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
    width = max(len(name) for name in resource)
    for name, value in resource.items():
        click.echo(f"{name:<{width}}  {_text(value)}")


def print_many(resources: list[dict[str, Any]], columns: tuple[str, ...], *, as_json: bool) -> None:
    """Print a list, as a table of these columns."""
    if as_json:
        click.echo(json.dumps(resources))
        return
    if not resources:
        click.echo("None yet.")
        return
    rows = [columns, *(tuple(_text(r[c]) for c in columns) for r in resources)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    for row in rows:
        click.echo("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return "-" if value is None else str(value)

"""The options that several commands share."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from handlers.times import parse_date, parse_time
from models.errors import InvalidError

FORMS = "ISO 8601, or a date (UTC)."
host_option: Callable[[Any], Any] = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; :: serves IPv4, too.",
)
port_option: Callable[[Any], Any] = click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port."
)


def _wait(_context: click.Context, _parameter: click.Parameter, descriptor: int | None) -> None:
    if descriptor is not None:
        os.read(descriptor, 1)
        os.close(descriptor)


# The modules of a command are imported before its options are parsed.
after_option: Callable[[Any], Any] = click.option(
    "--after",
    type=int,
    hidden=True,
    expose_value=False,
    callback=_wait,
    help="Start when this descriptor is at its end: the database is ready.",
)


def _time(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch, from ISO 8601, or from a date alone: its midnight in UTC."""
    try:
        if value is not None and len(value) == len("2026-11-20"):
            value = f"{parse_date('The value', value)}T00:00:00Z"
        return parse_time("The value", value)
    except InvalidError as error:
        raise click.BadParameter(str(error)) from None


time_option = partial(click.option, callback=_time, metavar="TIME")
since_option = partial(time_option, "--since", help=f"Created at this time or later. {FORMS}")
expires_option = partial(
    time_option, "--expires", "expires", help=f"When it stops working; default: never. {FORMS}"
)
until_option = partial(time_option, "--until", help=f"Created before this time. {FORMS}")

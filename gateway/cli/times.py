"""Times on the command line, as in the contract: ISO 8601."""

from collections.abc import Callable
from typing import Any

import click

from handlers.errors import InvalidError
from handlers.times import parse_time


def time_option(name: str, help_: str, *, required: bool = False) -> Callable[[Any], Any]:
    """An option that gives the command milliseconds since the epoch, or None."""
    return click.option(
        name, callback=_parse, required=required, metavar="TIME", help=f"{help_} ISO 8601."
    )


def _parse(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    try:
        return parse_time("The value", value)
    except InvalidError as error:
        raise click.BadParameter(str(error)) from None

"""Options that take a time: ISO 8601, or a date alone, which is its midnight in UTC."""

from functools import partial

import click

from handlers.times import parse_date, parse_time
from services.errors import InvalidError

DATE_LENGTH = len("2026-11-20")
FORMS = "ISO 8601, or a date (UTC)."


def _time(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch."""
    try:
        if value is not None and len(value) == DATE_LENGTH:
            value = f"{parse_date('The value', value)}T00:00:00Z"
        return parse_time("The value", value)
    except InvalidError as error:
        raise click.BadParameter(str(error)) from None


_time_option = partial(click.option, callback=_time, metavar="TIME")
since_option = partial(_time_option, "--since", help=f"Created at this time or later. {FORMS}")
until_option = partial(_time_option, "--until", help=f"Created before this time. {FORMS}")

"""gateway clock: what to do after the clock of this machine jumped."""

import click

from gateway.cli.opening import open_state
from gateway.cli.output import json_option, show
from gateway.settings import get_settings
from models.database import is_postgresql, known_time


@click.group()
def clock() -> None:
    """The clock of this machine, after a jump."""


@clock.command("confirm")
@json_option
def confirm_clock(*, as_json: bool) -> None:
    """Trust the clock as it is now, so that old rows are deleted again.

    Correct the clock first. Web and worker follow within 10 seconds.
    """
    open_state()
    if is_postgresql(get_settings().database_url):
        raise click.ClickException("The time is that of the PostgreSQL server. Correct its clock.")
    known_time.confirm()
    show({"confirmed": True}, as_json=True) if as_json else click.echo("The clock is confirmed.")

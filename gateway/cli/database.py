"""gateway migrate, gateway clock, and opening database and queue for a command.

Only ``up`` and ``migrate`` create them.
"""

import logging

import click
from peewee import DatabaseError

from gateway.cli import group, up_locks
from gateway.cli.output import json_option, show
from gateway.settings import Settings, get_settings, make_folder
from gateway.storage import (
    AwayError,
    check_database,
    check_queue,
    connect_state,
    in_one_line,
    refuse_clusters,
    usable,
)
from models import database
from models.accounts.actor import OPERATOR, acting
from models.database import known_time
from models.database.sqlite import path_of
from models.deliveries import event_history

clock = group("clock")

logger = logging.getLogger(__name__)


def open_state(*, may_be_away: bool = False) -> Settings:
    """Connect this command to the database and queue. Fails if the database is missing or not migrated.

    With ``may_be_away``, for a part of the service, an unreachable server is only logged and is tried again
    at each use. Such a part also creates its DATA_DIR, because it may run on a separate machine.
    """
    settings = up_locks.settings_here()
    _refuse_absent(settings, may_make_key=may_be_away)
    if may_be_away:
        make_folder(settings)
    elif context := click.get_current_context(silent=True):
        context.with_resource(acting(OPERATOR))
    connect_state(settings)
    try:
        check_database()
        # The server may go away between two queries.
        with usable("DATABASE_URL"):
            _refuse_incompatible()
            if database.pending_migrations():
                raise click.ClickException("The database is not migrated. Run: gateway migrate")
            event_history.settle()
            known_time.look()
        if may_be_away:
            refuse_clusters(settings)
        check_queue()
    except AwayError as error:
        if not may_be_away:
            raise
        logger.warning("started while a server is away: %s", error)
    return settings


def _refuse_absent(settings: Settings, *, may_make_key: bool) -> None:
    """Fail if a connection would create an empty database, or a key that decrypts nothing."""
    folder = "Run this in the service's folder or set GATEWAY_DATA_DIR."
    if settings.database_url.startswith("sqlite:"):
        file = path_of(settings.database_url)
        if not file.exists():
            raise click.ClickException(
                f"There is no database {file}. {folder} For a new one: gateway migrate"
            )
    elif not may_make_key and not settings.has_key:
        key = settings.key_file
        raise click.ClickException(f"There is no key {key}. {folder} Or set GATEWAY_SECRET_KEY.")


def _refuse_incompatible() -> None:
    if found := database.incompatible_migrations():
        raise click.ClickException(
            f"The database belongs to a later release: its migration {found[0]} removed what this release "
            "needs. Start that release, or restore a backup that was made before the upgrade."
        )


@click.command()
@json_option
def migrate(*, as_json: bool) -> None:
    """Upgrade the database's schema."""
    settings = get_settings()
    make_folder(settings)
    connect_state(settings)
    check_database()
    applied = apply_migrations()
    if as_json:
        show({"applied": applied}, as_json=True)
    else:
        click.echo(f"Applied: {', '.join(applied)}" if applied else "The database is up to date.")


def apply_migrations() -> list[str]:
    """Like database.migrate(). Fails with a one-line error."""
    _refuse_incompatible()
    try:
        applied = database.migrate()
        event_history.settle()
    except DatabaseError as error:
        raise click.ClickException(f"The database is not migrated: {in_one_line(error)}") from error
    return applied


@clock.command("confirm")
@json_option
def confirm_clock(*, as_json: bool) -> None:
    """Trust the clock as it is now, so that old rows are deleted again.

    Correct the clock first. Web and worker follow within 10 seconds.
    """
    open_state()
    if database.is_postgresql(get_settings().database_url):
        raise click.ClickException("The time is that of the PostgreSQL server. Correct its clock.")
    known_time.confirm()
    show({"confirmed": True}, as_json=True) if as_json else click.echo("The clock is confirmed.")

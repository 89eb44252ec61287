"""gateway migrate: upgrades of the database's schema."""

import click
from peewee import DatabaseError

from gateway.cli.opening import refuse_incompatible
from gateway.cli.output import json_option, show
from gateway.settings import get_settings
from gateway.storage import check_database, connect_state, in_one_line, make_folder
from models import database
from models.deliveries import event_history


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
    refuse_incompatible()
    try:
        applied = database.migrate()
        event_history.settle()
    except DatabaseError as error:
        raise click.ClickException(f"The database is not migrated: {in_one_line(error)}") from error
    return applied

"""gateway web, worker, sandbox and migrate: the parts of a deployment."""

import os
import sys
from collections.abc import Callable
from typing import Any

import click
from peewee import DatabaseError

from gateway.cli.opening import open_state, refuse_incompatible
from gateway.cli.output import json_option, show
from gateway.ops import tracing
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings
from gateway.storage import connect_state, in_one_line, make_folder, reach_database
from models import database

host_option: Callable[[Any], Any] = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen at."
)
port_option: Callable[[Any], Any] = click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port."
)


@click.command()
@host_option
@port_option
def web(host: str, port: int) -> None:
    """Serve the API."""
    from gateway.http.server import serve  # noqa: PLC0415 - the other commands start faster without it

    configure_logging(get_settings().log_format)
    # Fail here: a web process that fails would be restarted endlessly.
    tracing.check()
    serve(open_state(may_be_away=True), host, port)


@click.command()
def worker() -> None:
    """Deliver events and ingest callbacks."""
    from gateway.worker import run_worker  # noqa: PLC0415 - as above

    configure_logging(get_settings().log_format)
    tracing.start("worker")
    try:
        run_worker(open_state(may_be_away=True))
    finally:
        tracing.stop()


@click.command()
@click.option(
    "--tls-port",
    type=click.IntRange(1, 65535),
    help="Also serve TLS as graph.facebook.com here, with a certificate authority in the data directory.",
)
def sandbox(tls_port: int | None) -> None:
    """Run the local messaging network."""
    settings = get_settings()
    environment = {
        "SANDBOX_CALLBACK_URL": f"{settings.public_url}/network/callback",
        **os.environ,
        "SANDBOX_PORT": str(settings.sandbox_port),
        "SANDBOX_DATA_DIR": str(settings.data_dir),
        "SANDBOX_APP_ID": settings.network_app_id,
        "SANDBOX_CONFIG_ID": settings.network_config_id,
        "SANDBOX_APP_SECRET": settings.network_app_secret.get_secret_value(),
        "SANDBOX_VERIFY_TOKEN": settings.network_verify_token.get_secret_value(),
    }
    if tls_port is not None:
        environment["SANDBOX_TLS_PORT"] = str(tls_port)
    # The sandbox is a separate process.
    os.execve(sys.executable, [sys.executable, "-m", "sandbox"], environment)  # noqa: S606


@click.command()
@json_option
def migrate(*, as_json: bool) -> None:
    """Upgrade the database's schema."""
    settings = get_settings()
    make_folder(settings)
    connect_state(settings)
    reach_database()
    applied = apply_migrations()
    if as_json:
        show({"applied": applied}, as_json=True)
    else:
        click.echo(f"Applied: {', '.join(applied)}" if applied else "The database is up to date.")


def apply_migrations() -> list[str]:
    """Like database.migrate(). Fails with a one-line error."""
    refuse_incompatible()
    try:
        return database.migrate()
    except DatabaseError as error:
        raise click.ClickException(f"The database is not migrated: {in_one_line(error)}") from error

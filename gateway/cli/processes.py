"""gateway up, web, worker, sandbox, migrate."""

import os
import sys
from pathlib import Path

import click
from peewee import DatabaseError

from gateway.cli.output import json_option, open_state, print_one
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings, load_settings
from gateway.state import connect_state, in_one_line
from models import database

HOST = "127.0.0.1"
PORT = 8080

host_option = click.option("--host", default=HOST, show_default=True, help="Address to listen at.")
port_option = click.option(
    "--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port."
)


@click.command()
@host_option
@port_option
@click.option("--sandbox-port", type=click.IntRange(1, 65535), help="Port of the sandbox.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where everything is kept.")
@click.option("--no-demo", is_flag=True, help="Start empty: no demo account, key and number.")
def up(
    host: str, port: int, sandbox_port: int | None, data_dir: Path | None, *, no_demo: bool
) -> None:
    """Run all of it here: web, worker and sandbox."""
    from gateway.cli.up import run_all, url_at  # noqa: PLC0415 - as above
    from gateway.ops import tracing  # noqa: PLC0415 - the other commands start faster without it

    # The parts are processes of their own: what is said here reaches them by the environment.
    given = {"GATEWAY_SANDBOX_PORT": sandbox_port, "GATEWAY_DATA_DIR": data_dir}
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    if "public_url" not in load_settings().model_fields_set:
        os.environ["GATEWAY_PUBLIC_URL"] = url_at(host, port)
    configure_logging(get_settings().log_format)
    # Else its parts would end, and be started again, for ever.
    tracing.check()
    sys.exit(run_all(get_settings(), host, port, demo=not no_demo))


@click.command()
@host_option
@port_option
def web(host: str, port: int) -> None:
    """Serve the API."""
    from gateway.http.server import serve  # noqa: PLC0415 - as above
    from gateway.ops import tracing  # noqa: PLC0415 - as above

    configure_logging(get_settings().log_format)
    # What is wrong is said here, once: the processes that serve would be started again and again.
    tracing.check()
    serve(open_state(), host, port)


@click.command()
def worker() -> None:
    """Deliver events and ingest callbacks."""
    from gateway.ops import tracing  # noqa: PLC0415 - as above
    from gateway.worker import run_worker  # noqa: PLC0415 - as above

    configure_logging(get_settings().log_format)
    tracing.start("worker")
    try:
        run_worker(open_state())
    finally:
        tracing.stop()


@click.command()
def sandbox() -> None:
    """Run the local messaging network."""
    settings = get_settings()
    from gateway.cli.up import sandbox_environment  # noqa: PLC0415 - as above

    os.execvpe(  # noqa: S606 - the sandbox is a process of its own
        sys.executable,
        [sys.executable, "-m", "sandbox"],
        sandbox_environment(settings, settings.public_url),
    )


@click.command()
@json_option
def migrate(*, as_json: bool) -> None:
    """Bring the database's schema up to date."""
    connect_state(get_settings())
    try:
        applied = database.migrate()
    except DatabaseError as error:
        raise click.ClickException(f"The database is not migrated: {in_one_line(error)}") from error
    if as_json:
        print_one({"applied": applied}, as_json=True)
        return
    click.echo(f"Applied: {', '.join(applied)}" if applied else "The database is up to date.")


COMMANDS = (up, web, worker, sandbox, migrate)

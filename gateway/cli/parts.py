"""gateway web and gateway worker: the parts of the service."""

import click

from gateway.cli.database import open_state
from gateway.cli.options import host_option, port_option
from gateway.ops import tracing
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings


@click.command()
@host_option
@port_option
def web(host: str, port: int) -> None:
    """Serve API, dashboard, signup pages and callbacks."""
    from gateway.http.server import serve  # noqa: PLC0415 - the worker does not need it

    configure_logging(get_settings().log_format)
    # Fail here: a web process that fails would be restarted endlessly.
    tracing.check()
    serve(open_state(may_be_away=True), host, port)


@click.command()
def worker() -> None:
    """Deliver events and ingest callbacks."""
    from gateway.worker import run_worker  # noqa: PLC0415 - the web does not need it

    configure_logging(get_settings().log_format)
    tracing.start("worker")
    try:
        run_worker(open_state(may_be_away=True))
    finally:
        tracing.stop()

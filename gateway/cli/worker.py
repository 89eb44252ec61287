"""gateway worker: a part of the service."""

import click

from gateway.cli.database import open_state
from gateway.cli.options import after_option
from gateway.ops import tracing
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings
from gateway.worker import run_worker


@click.command()
@after_option
def worker() -> None:
    """Deliver events and ingest stored callbacks."""
    configure_logging(get_settings().log_format)
    tracing.start("worker")
    try:
        run_worker(open_state(may_be_away=True))
    finally:
        tracing.stop()

"""gateway web: a part of the service."""

import click

from gateway.cli.database import open_state
from gateway.cli.options import after_option, host_option, port_option
from gateway.http.server import serve
from gateway.ops import tracing
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings


@click.command()
@host_option
@port_option
@after_option
def web(host: str, port: int) -> None:
    """Serve API, dashboard, signup pages and callbacks."""
    configure_logging(get_settings().log_format)
    # Fail here: a web process that fails would be restarted endlessly.
    tracing.check()
    serve(open_state(may_be_away=True), host, port)

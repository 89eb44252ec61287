"""gateway web: the API, the dashboard, the signup pages and the network's callbacks."""

import click

from gateway.cli.database import open_state
from gateway.cli.options import host_option, port_option
from gateway.http.server import serve
from gateway.ops import tracing
from gateway.ops.logs import configure_logging
from gateway.settings import get_settings


@click.command()
@host_option
@port_option
def web(host: str, port: int) -> None:
    """Serve API, dashboard, signup pages and callbacks."""
    configure_logging(get_settings().log_format)
    # Fail here: a web process that fails would be restarted endlessly.
    tracing.check()
    serve(open_state(may_be_away=True), host, port)

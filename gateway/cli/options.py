"""The options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

host_option: Callable[[Any], Any] = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; :: serves IPv4, too.",
)
port_option: Callable[[Any], Any] = click.option(
    "--port", type=click.IntRange(1, 65535), default=8080, show_default=True, help="Port."
)

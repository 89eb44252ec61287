"""The command ``gateway``. Errors go to stderr with exit status 1, wrong usage with 2."""

import importlib
import os
import sys

import click

from gateway import __version__
from gateway.settings import SettingsError
from models.secret import SecretUnreadableError

# The module of each command. It is imported when the command is used: importing all takes half a second.
MODULES = {
    "accounts": "accounts",
    "callbacks": "callbacks",
    "deliveries": "webhooks",
    "doctor": "doctor",
    "keys": "accounts",
    "migrate": "processes",
    "numbers": "numbers",
    "sandbox": "processes",
    "sandbox-connect": "numbers",
    "signup-links": "numbers",
    "up": "up",
    "users": "users",
    "web": "processes",
    "webhooks": "webhooks",
    "worker": "processes",
}


class LazyGroup(click.Group):
    """Knows its commands by name, and imports one when it is used."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command. None when there is none of this name."""
        del ctx
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(f"gateway.cli.{MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command


@click.group(
    cls=LazyGroup,
    commands={name: click.Command(name) for name in MODULES},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, prog_name="gateway")
def cli() -> None:
    """Messaging Gateway: send messages from your number, receive signed events."""


def main() -> None:
    """The console script."""
    # Files are readable by their owner only, whichever library makes them.
    os.umask(0o077)
    try:
        cli()
    except (SettingsError, SecretUnreadableError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)

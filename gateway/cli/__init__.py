"""The command ``gateway``. Errors go to stderr with exit status 1, wrong usage with 2."""

import importlib
import os
import sys

import click

from gateway import __version__
from gateway.settings import SettingsError
from models.secret import SecretUnreadableError

# Where each command is. It is imported when it is asked for: what the others need takes half a second.
MODULES = {
    "accounts": "accounts",
    "callbacks": "callbacks",
    "completion": "completion",
    "deliveries": "deliveries",
    "doctor": "doctor",
    "keys": "keys",
    "migrate": "processes",
    "numbers": "numbers",
    "sandbox": "processes",
    "sandbox-connect": "numbers",
    "signup-links": "signup_links",
    "up": "processes",
    "users": "users",
    "web": "processes",
    "webhooks": "webhooks",
    "worker": "processes",
}


class Commands(click.Group):
    """The commands of ``MODULES``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, without an import."""
        del ctx
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; for a name that does not exist all, so that click can say what is near."""
        for module in {MODULES[cmd_name]} if cmd_name in MODULES else set(MODULES.values()):
            for command in importlib.import_module(f"gateway.cli.{module}").COMMANDS:
                self.add_command(command)
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80}
)
@click.version_option(__version__, prog_name="gateway")
def cli() -> None:
    """Messaging Gateway: send messages from your number, receive signed events."""


def main() -> None:
    """The console script."""
    # What is kept is its owner's alone, whichever part or library makes the file.
    os.umask(0o077)
    try:
        cli.main(standalone_mode=True)
    except (SettingsError, SecretUnreadableError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)

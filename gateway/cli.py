"""The command ``gateway``. Errors go to stderr with exit status 1, wrong usage with 2."""

import sys

import click

from gateway import __version__
from gateway.commands import (
    accounts,
    callbacks,
    completion,
    deliveries,
    doctor,
    keys,
    numbers,
    processes,
    signup_links,
    users,
    webhooks,
)
from gateway.settings import SettingsError
from models.secret import SecretUnreadableError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="gateway")
def cli() -> None:
    """Messaging Gateway: send messages from your number, receive signed events."""


MODULES = (
    processes,
    accounts,
    users,
    keys,
    numbers,
    signup_links,
    webhooks,
    deliveries,
    callbacks,
    doctor,
    completion,
)
for module in MODULES:
    for command in module.COMMANDS:
        cli.add_command(command)


def main() -> None:
    """The console script."""
    try:
        cli.main(standalone_mode=True)
    except (SettingsError, SecretUnreadableError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)

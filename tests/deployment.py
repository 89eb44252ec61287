"""Helpers for the tests of deploy/: the commands of a deployment, and the longest time of a stop."""

from pathlib import Path

import click

from gateway.cli import cli
from gateway.http.server import CANCEL_SECONDS, GRACE_SECONDS
from gateway.settings import Settings

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
# At the default settings. The web waits for requests, the worker for a call of the network or an attempt.
STOP_SECONDS = (
    max(Settings.model_fields[name].default for name in ("network_timeout", "delivery_timeout"))
    + GRACE_SECONDS
    + CANCEL_SECONDS
)


def find(words: list[str]) -> click.Command | None:
    """Find the command at the start of the words. The command itself parses the rest."""
    command: click.Command | None = cli
    for word in words:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    return command


def parse(words: list[str]) -> None:
    """Fail if the command line refuses the words. Nothing is run."""
    command = find(words)
    assert command is not None, words
    command.make_context(words[0], words[1:])

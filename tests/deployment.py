"""Helpers for the tests of deploy/: its commands, its URLs of servers, and the longest time of a stop."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs

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


SERVER_SETTINGS = ("GATEWAY_DATABASE_URL", "GATEWAY_QUEUE_URL", "GATEWAY_RATE_LIMIT_URL")


def host_of(url: str) -> str:
    """The host of a URL whose password may be a variable of Compose."""
    return url.rpartition("@")[2].partition(":")[0]


def encrypts_to_proven_servers(settings: Mapping[str, str]) -> bool:
    """Whether all servers must prove their names by a certificate."""
    database, *others = (settings[name] for name in SERVER_SETTINGS)
    is_verified = _parameters(database)["sslmode"] == ["verify-full"]
    return is_verified and all(url.startswith("rediss://") for url in others)


def authorities(settings: Mapping[str, str]) -> set[str]:
    """The files with the authorities of these servers."""
    database, *others = (_parameters(settings[name]) for name in SERVER_SETTINGS)
    return {*database["sslrootcert"], *(file for each in others for file in each["ssl_ca_certs"])}


def _parameters(url: str) -> dict[str, list[str]]:
    return parse_qs(url.rpartition("?")[2])

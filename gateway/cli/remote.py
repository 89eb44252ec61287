"""The API of the profile, through the SDK, and gateway login, which sets the profile."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from urllib.parse import urlsplit

import click
import httpx

from gateway.cli import profile
from gateway.cli.output import Decorator, Printed, printed
from gateway.cli.profile import LOGIN, Profile
from messaging_gateway_client import (
    AuthenticationError,
    Client,
    GatewayError,
    NoResponseError,
)

# Seconds of a call with all its attempts. Those without a gateway take two.
SECONDS, ATTEMPTS = 60, 4
PREFIX = "mk_live_"
KEY = re.compile(f"{PREFIX}[A-Za-z0-9_-]{{43}}")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

# Parts of errors' texts, and the texts that people read instead.
_REASONS = {
    "Connection refused": "connection refused",
    "Name or service not known": "unknown host",
    "CERTIFICATE_VERIFY_FAILED": "its TLS certificate is not trusted",
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
    "No route to host": "no route to host",
    "Network is unreachable": "network is unreachable",
}


def reason_of(error: BaseException) -> str:
    """Why there was no response, in a few words. Libraries' texts name classes and error numbers."""
    for mark, reason in _REASONS.items():
        if mark in str(error):
            return reason
    return "timed out" if isinstance(error, httpx.TimeoutException) else "the connection was lost"


def line_of(error: GatewayError, url: str) -> str:
    """An error of the API at this address, and what to do, for a person.

    What to do is the note of the exception if it has one.
    """
    other = "another one: gateway login --url"
    if not isinstance(error, NoResponseError):
        hint = f" {LOGIN}" if isinstance(error, AuthenticationError) else ""
        link = f" See {error.details['help']}" if "help" in error.details else ""
        return f"{error}{hint}{link}"
    if error.__cause__ is None:
        problem, remedy = f"{url}: {error.message}", f"Name {other}"
    else:
        problem = f"{url} does not answer: {reason_of(error.__cause__)}."
        remedy = f"Start it, or name {other}"
    return " ".join([problem, *getattr(error, "__notes__", [remedy])])


@contextmanager
def connected(ours: Profile | None = None) -> Iterator[Client]:
    """The API at the address of a profile, with its key. An error ends the command with one line."""
    ours = ours or profile.load()
    try:
        opened = Client(ours.url, ours.key, timeout=SECONDS, attempts=ATTEMPTS)
    except ValueError as error:
        raise click.ClickException(f"{error}. {LOGIN}") from None
    try:
        with opened as client:
            yield client
    except GatewayError as error:
        raise click.ClickException(line_of(error, ours.url)) from None


@contextmanager
def _arguments() -> Iterator[list[Client]]:
    with connected() as client:
        yield [client]


def asks(*columns: str) -> Decorator:
    """Print the result of a command over the API, like ``prints``. The first argument is the client."""
    return printed(_arguments, *columns)


def _base(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    parts = urlsplit(value)
    is_address = parts.scheme in {"http", "https"} and parts.hostname
    if not is_address or set(value) & set("?#@ "):
        raise click.BadParameter("must be an address such as https://gateway.example.com/api.")
    base = value.rstrip("/")
    return base if parts.path.strip("/") else f"{base}/api"


@click.command()
@click.option("--url", callback=_base, help="Base address of the API; its path ends in /api.")
@click.option(
    "--key", help="API key. Without it, the command prompts for it or reads standard input."
)
@printed(lambda: nullcontext(()))
def login(url: str | None, key: str | None) -> Printed:
    """Store the address and API key for these commands.

    These are send, messages, broadcasts, tail, listen, trigger, deliveries show and webhooks create.

    The key is checked first. Enter it at the prompt instead of --key: other users of this machine can read
    the options of commands. Only you can read the profile file. GATEWAY_PROFILE sets another path.
    """
    before = profile.load_or_none()
    url = url or (before.url if before else _address_here())
    key = (key or _read_key(url)).strip()
    if not KEY.fullmatch(key):
        raise click.UsageError(
            f"An API key is {PREFIX} and 43 characters. Give it on standard input."
        )
    made = Profile(url, key, before.secret if before else profile.new_secret())
    with connected(made) as client:
        numbers = client.list_numbers()["pagination"]["total"]
    if urlsplit(url).scheme == "http" and urlsplit(url).hostname not in LOCAL_HOSTS:
        click.echo(f"The key goes to {url} unencrypted: prefer https.", err=True)
    profile.save(made)
    return {
        "url": made.url,
        "numbers": numbers,
        "profile": str(profile.path()),
        "signingSecret": made.secret,
    }


def _read_key(url: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"API key for {url}", hide_input=True, err=True))
    return sys.stdin.readline()


def _address_here() -> str:
    """The address of the ``gateway up`` in this folder, running or not."""
    from gateway.cli.up_locks import settings_here  # noqa: PLC0415 - of a server, which may be far

    return f"{settings_here().public_url}/api"

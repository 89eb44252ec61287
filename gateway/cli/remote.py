"""A client of a gateway's HTTP API with the key of the profile, and gateway login, which sets it."""

import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import click
import requests

from gateway import __version__
from gateway.cli import profile
from gateway.cli.output import Decorator, Printed, printed
from gateway.cli.profile import LOGIN
from gateway.client.connection import Bearer, ResponseError, reason_of, refusal_of

SECONDS = 60
USER_AGENT = f"gateway-cli/{__version__}"
PREFIX = "mk_live_"
KEY = re.compile(f"{PREFIX}[A-Za-z0-9_-]{{43}}")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def as_error(refusal: ResponseError) -> click.ClickException:
    """An error that the gateway responded with, for a person."""
    hint = f" {LOGIN}" if refusal.status == requests.codes.unauthorized else ""
    link = f" See {refusal.details['help']}" if "help" in refusal.details else ""
    return click.ClickException(f"{refusal}{hint}{link}")


class NoAnswerError(click.ClickException):
    """No gateway responds at this address."""

    def format_message(self) -> str:
        return f"{self.message} Start it, or name another one: gateway login --url"


class Remote:
    """The API at the address of a profile, with its key. A request fails with a one-line error."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self._session = requests.Session()
        self._session.auth = Bearer(key)
        self._session.headers["User-Agent"] = USER_AGENT

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The JSON object at a path. A parameter of the query that is None is left out."""
        return self._request("GET", path, params=query)

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        return self._request("POST", path, json=body, headers=headers)

    def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        options |= {"timeout": SECONDS, "allow_redirects": False}
        try:
            response = self._session.request(method, f"{self.url}{path}", **options)
        except requests.RequestException as error:
            raise NoAnswerError(f"{self.url} does not answer: {reason_of(error)}.") from None
        if response.status_code not in range(200, 300):
            if refusal := refusal_of(response):
                raise as_error(refusal)
            status = f"{response.status_code} {response.reason}"
            raise NoAnswerError(f"{self.url} is no gateway's API, or it is down: {status}.")
        try:
            found = response.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise NoAnswerError(f"{response.url} did not answer with a JSON object.")
        return found


def connect() -> Remote:
    found = profile.load()
    return Remote(found.url, found.key)


def asks(*columns: str) -> Decorator:
    """Print the result of a command over the API, like ``prints``. The first argument is the API."""
    return printed(lambda: [connect()], *columns)


def _base(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise click.BadParameter("must be an address such as https://gateway.example.com/api.")
    base = value.rstrip("/")
    return base if parts.path.strip("/") else f"{base}/api"


@click.command()
@click.option("--url", callback=_base, help="Base address of the API; its path ends in /api.")
@click.option(
    "--key", help="API key. Without it, the command prompts for it or reads standard input."
)
@printed(tuple)
def login(url: str | None, key: str | None) -> Printed:
    """Store the address and API key for these commands.

    These are send, messages, tail, listen, trigger, deliveries show and webhooks create.

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
    made = profile.Profile(url, key, before.secret if before else profile.new_secret())
    numbers = Remote(made.url, made.key).get("/numbers")["pagination"]["total"]
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

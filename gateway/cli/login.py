"""gateway login."""

import re
import sys
from urllib.parse import urlsplit

import click

from gateway.cli import profile
from gateway.cli.output import Printed, json_option, show
from gateway.cli.remote import Remote

PREFIX = "mk_live_"
KEY = re.compile(f"{PREFIX}[A-Za-z0-9_-]{{43}}")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


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
@json_option
def login(url: str | None, key: str | None, *, as_json: bool) -> None:
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
    shown: Printed = {
        "url": made.url,
        "numbers": numbers,
        "profile": str(profile.path()),
        "signingSecret": made.secret,
    }
    show(shown, as_json=as_json)


def _read_key(url: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"API key for {url}", hide_input=True, err=True))
    return sys.stdin.readline()


def _address_here() -> str:
    """The address of the ``gateway up`` in this folder, running or not."""
    from gateway.cli import up_file  # noqa: PLC0415 - the settings are of a server, which may be far
    from gateway.settings import get_settings, load_settings  # noqa: PLC0415 - as above

    up_file.join(load_settings())
    return f"{get_settings().public_url}/api"

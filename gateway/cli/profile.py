"""The profile of a developer: which gateway the commands call, with which key. ``gateway login`` writes it.

Its file holds secrets, so only its owner can read it. Next to it is the position of ``gateway listen``.
"""

import base64
import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

VARIABLE = "GATEWAY_PROFILE"
LOGIN = "Run: gateway login"
# Bytes of the file. A cursor is shorter.
CURSOR_WIDTH = 255


@dataclass(frozen=True)
class Profile:
    """Base address, API key, and the secret that signs what ``gateway listen`` forwards."""

    url: str
    key: str = field(repr=False)
    secret: str = field(repr=False)


def path() -> Path:
    """The file: GATEWAY_PROFILE, or one in the platform's folder for settings."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else Path(click.get_app_dir("gateway")) / "profile.json"


def load() -> Profile:
    try:
        return Profile(**json.loads(path().read_bytes()))
    except FileNotFoundError:
        reason = f"There is no profile {path()}. {LOGIN}"
    except (OSError, ValueError, TypeError):
        reason = f"The profile {path()} cannot be read. Make a new one: gateway login"
    raise click.ClickException(reason)


def save(profile: Profile) -> None:
    """Write the file. Deletes the position of a listener to another gateway or account."""
    if load_or_none() != profile:
        _place().unlink(missing_ok=True)
    file = path()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Atomic. Only the owner can read it (tempfile's default).
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as made:
            json.dump(asdict(profile), made)
        Path(made.name).replace(file)
    except OSError as error:
        raise _unwritable(file, error) from None


def load_or_none() -> Profile | None:
    try:
        return load()
    except click.ClickException:
        return None


def new_secret() -> str:
    """A signing secret in the form that webhooks have."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def cursor() -> str | None:
    """The cursor of the last event that a listener of this profile forwarded."""
    try:
        return _place().read_text(encoding="ascii").strip() or None
    except (OSError, ValueError):
        return None


def save_cursor(text: str) -> None:
    """Note that the event with this cursor was forwarded.

    One write of a constant length over the old cursor. It is never incomplete if the process ends, and does
    not wait for the disk at each event as replacing the file would.
    """
    try:
        with os.fdopen(os.open(_place(), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(f"{text:<{CURSOR_WIDTH}}\n".encode("ascii"))
    except OSError as error:
        raise _unwritable(_place(), error) from None


def _place() -> Path:
    return path().with_suffix(".cursor")


def _unwritable(file: Path, error: OSError) -> click.ClickException:
    reason = f"{file} cannot be written: {error.strerror}."
    return click.ClickException(f"{reason} Set {VARIABLE} to another place.")

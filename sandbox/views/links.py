"""Addresses in messages: shown, never loaded."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

ADDRESS = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]*_~]")


def web_address(value: object) -> str:
    """The value when a person may follow it; anything but http and https leads nowhere."""
    return value if isinstance(value, str) and ADDRESS.fullmatch(value) else ""


def first_link(text: object) -> str:
    """The first address in a text: the one the platform makes a preview of."""
    found = ADDRESS.search(text) if isinstance(text, str) else None
    return found[0] if found else ""


def host(address: str) -> str:
    """Whose address it is."""
    try:
        return urlsplit(address).hostname or address
    except ValueError:
        return address


def media_path(media_id: object) -> str:
    """Where the sandbox serves a medium that was uploaded to it."""
    return f"/_sandbox/media/{quote(str(media_id), safe='', errors='replace')}"

"""Addresses in messages: shown, never loaded."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

ADDRESS = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]*_~]")


def web_address(value: object) -> str:
    """The value if it is an http or https link, which a person may follow."""
    return value if isinstance(value, str) and ADDRESS.fullmatch(value) else ""


def first_link(text: object) -> str:
    """The first URL in a text, for which the platform creates a preview."""
    found = ADDRESS.search(text) if isinstance(text, str) else None
    return found[0] if found else ""


def host(address: str) -> str:
    """The host of a URL."""
    try:
        return urlsplit(address).hostname or address
    except ValueError:
        return address


def media_path(media_id: object) -> str:
    """Where the sandbox serves a medium that was uploaded to it."""
    return f"/_sandbox/media/{quote(str(media_id), safe='', errors='replace')}"

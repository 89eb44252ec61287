"""Renders pages: HTML with autoescape, and the headers of every page."""

import hashlib
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flask import Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dashboard.filters import FILTERS
from gateway.settings import get_settings
from models.accounts.password_strength import MAX_PASSWORD, MIN_PASSWORD
from networks.registry import network_of

STATIC = Path(__file__).parent / "static"
# Browsers cache styles and scripts until they change.
LIFETIME_SECONDS = 365 * 24 * 3600
CACHE_CONTROL = f"public, max-age={LIFETIME_SECONDS}, immutable"


def asset(name: str) -> str:
    """The URL of a static file. It changes with the content."""
    return f"{get_settings().public_path}/dashboard/static/{name}?v={_digest(name)}"


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


# Not Flask's environment, because the outermost layer renders pages as well and runs outside of Flask.
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals |= {
    "asset": asset,
    # Before each path of a page: links are those of the public URL.
    "root": lambda: get_settings().public_path,
    # The files that can be sent from a number (networks.interface.FileTypes).
    "files_of": lambda number: network_of(number).files,
    "password_length": (MIN_PASSWORD, MAX_PASSWORD),
}
TEMPLATES.filters |= FILTERS
_POLICY = {
    "default-src": "'none'",
    "font-src": "'self'",
    "img-src": "'self' data:",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}


def render(
    template: str,
    status: int = 200,
    *,
    sources: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """Render a template of dashboard/templates.

    ``sources`` adds other origins to the Content-Security-Policy, by directive. Inline styles and scripts
    have the template's ``nonce``.
    """
    nonce = secrets.token_urlsafe(16)
    body = TEMPLATES.get_template(template).render(values, nonce=nonce)
    return Response(
        # UTF-8 cannot encode a lone surrogate in a typed text.
        body.encode(errors="replace"),
        status,
        {
            "Content-Security-Policy": _policy(nonce, sources or {}),
            "Referrer-Policy": "no-referrer",
            **(headers or {}),
        },
        content_type="text/html; charset=utf-8",
    )


def _policy(nonce: str, sources: Mapping[str, str]) -> str:
    directives = dict(_POLICY)
    for name in ("style-src", "script-src"):
        directives[name] = f"'nonce-{nonce}'"
    for name, more in sources.items():
        directives[name] = f"{directives.get(name, '')} {more}".strip()
    return "; ".join(f"{name} {value}" for name, value in directives.items())

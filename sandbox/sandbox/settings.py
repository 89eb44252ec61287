"""Settings from environment variables, checked before the start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

MAX_PORT = 65535
# The platform's host, as which TLS is served.
GRAPH_HOST = "graph.facebook.com"


class SettingsError(Exception):
    """A setting is invalid. The text is one line that names the variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything configurable. Port 0 asks the system for a free one; ``tls_port`` None is no TLS.

    Times are in seconds.

    The secrets are kept out of ``repr`` so that no traceback or log line shows them.
    """

    host: str
    port: int
    tls_port: int | None
    allowed_hosts: frozenset[str]
    data_dir: Path
    app_id: str
    config_id: str
    app_secret: str = field(repr=False)
    verify_token: str = field(repr=False)
    callback_url: str
    callback_timeout: float
    retry_cap: float
    compact_bytes: int


def load(environ: Mapping[str, str]) -> Settings:
    """Read ``SANDBOX_*``; unset variables take the defaults of a developer's laptop.

    Raises SettingsError.
    """
    return Settings(
        host=_text(environ, "SANDBOX_HOST", "127.0.0.1"),
        port=_integer(environ, "SANDBOX_PORT", 8081, MAX_PORT),
        tls_port=_integer(environ, "SANDBOX_TLS_PORT", 0, MAX_PORT)
        if "SANDBOX_TLS_PORT" in environ
        else None,
        allowed_hosts=_names(environ, "SANDBOX_ALLOWED_HOSTS"),
        data_dir=Path(_text(environ, "SANDBOX_DATA_DIR", "./var")),
        app_id=_app_id(environ, "SANDBOX_APP_ID", "100000000000001"),
        config_id=_text(environ, "SANDBOX_CONFIG_ID", "200000000000001"),
        app_secret=_text(environ, "SANDBOX_APP_SECRET", "sandbox-app-secret"),
        verify_token=_text(environ, "SANDBOX_VERIFY_TOKEN", "sandbox-verify-token"),
        callback_url=_url(
            environ, "SANDBOX_CALLBACK_URL", "http://127.0.0.1:8080/network/callback"
        ),
        callback_timeout=_seconds(environ, "SANDBOX_CALLBACK_TIMEOUT", 10.0),
        retry_cap=_seconds(environ, "SANDBOX_RETRY_CAP", 60.0),
        compact_bytes=_integer(environ, "SANDBOX_COMPACT_BYTES", 16 * 1024 * 1024),
    )


def _text(environ: Mapping[str, str], name: str, default: str) -> str:
    value = environ.get(name, default).strip()
    if not value:
        raise SettingsError(f"{name} must not be empty")
    return value


def _names(environ: Mapping[str, str], name: str) -> frozenset[str]:
    """Names and addresses that a Host header may have besides loopback, by commas, without ports."""
    names = [each.strip().lower() for each in environ.get(name, "").split(",") if each.strip()]
    for each in names:
        if set(each) & set("/[]*@ ") or each.count(":") == 1:
            raise SettingsError(
                f"{name} must be host names or addresses without scheme and port, not {each!r}"
            )
    return frozenset(names)


def _integer(environ: Mapping[str, str], name: str, default: int, most: int | None = None) -> int:
    text = _text(environ, name, str(default))
    value = int(text) if text.isascii() and text.isdigit() else -1
    if value < 0 or (most is not None and value > most):
        bound = (
            "a whole number of at least 0" if most is None else f"a whole number from 0 to {most}"
        )
        raise SettingsError(f"{name} must be {bound}, not {text!r}")
    return value


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = _text(environ, name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise SettingsError(f"{name} must be a number of seconds above 0, not {text!r}")
    return value


def _app_id(environ: Mapping[str, str], name: str, default: str) -> str:
    text = _text(environ, name, default)
    if "|" in text or not text.isprintable():
        # The app token is literally APP_ID|APP_SECRET, so an id with a bar would be ambiguous.
        raise SettingsError(f"{name} must be printable and hold no '|'")
    return text


def _url(environ: Mapping[str, str], name: str, default: str) -> str:
    text = _text(environ, name, default)
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"{name} must be an http or https URL, not {text!r}")
    return text

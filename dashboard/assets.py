"""The dashboard's style sheets and scripts. Browsers cache them until they change."""

import hashlib
from functools import cache
from pathlib import Path

from gateway.settings import get_settings

STATIC = Path(__file__).parent / "static"
LIFETIME_SECONDS = 365 * 24 * 3600
CACHE_CONTROL = f"public, max-age={LIFETIME_SECONDS}, immutable"


def asset(name: str) -> str:
    """The URL of a static file. It changes with the content."""
    return f"{get_settings().public_path}/dashboard/static/{name}?v={_digest(name)}"


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]

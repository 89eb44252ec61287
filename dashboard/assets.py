"""The dashboard's style sheets and scripts. Browsers cache them until they change."""

import hashlib
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
LIFETIME_SECONDS = 365 * 24 * 3600
CACHE_CONTROL = f"public, max-age={LIFETIME_SECONDS}, immutable"


@cache
def asset(name: str) -> str:
    """The URL of a static file. It changes with the content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/dashboard/static/{name}?v={digest[:12]}"

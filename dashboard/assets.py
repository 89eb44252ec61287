"""The dashboard's own style sheet and script: small files, kept by browsers until they change."""

import hashlib
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
LIFETIME_SECONDS = 365 * 24 * 3600
CACHE_CONTROL = f"public, max-age={LIFETIME_SECONDS}, immutable"


@cache
def asset(name: str) -> str:
    """The address of a static file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/dashboard/static/{name}?v={digest[:12]}"

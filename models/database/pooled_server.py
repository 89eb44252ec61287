"""The server behind a pooler, which a failover replaces under a session.

The pooler sends new statements to the new server. One that a frozen old server has received gets no response.
"""

import threading
import time
from typing import Any

import psycopg
from psycopg.abc import PQGen

from models.database import resolver
from models.database.hosts import SHARED_SECONDS, TEST_SECONDS

# A standby has the identifier of its primary, but started at another time. A pooler may let standbys answer.
_PRIMARY = "SELECT pg_postmaster_start_time()::text WHERE NOT pg_is_in_recovery()"

_lock = threading.Lock()
# For each URL the primary that responded last, and when it was asked, by time.monotonic().
_seen: dict[str, str] = {}
_asked_at: dict[str, float] = {}


class _Hasty(psycopg.Connection[Any]):
    """Waits only TEST_SECONDS for a response."""

    def wait(
        self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = TEST_SECONDS
    ) -> Any:
        return super().wait(gen, interval, timeout)


def note(url: str, session: psycopg.Connection[Any]) -> None:
    """Ask for the primary over a session. Raises psycopg.Error."""
    for (server,) in session.execute(_PRIMARY).fetchall():
        _seen[url] = server


def seen(url: str) -> str | None:
    """The primary that responded last."""
    return _seen.get(url)


def is_another(url: str, server: str | None) -> bool:
    """Whether another primary than ``server`` responds by now. Blocks for some seconds if none does.

    A pooler without a free connection does not respond either, so silence means nothing.
    """
    with _lock:
        if time.monotonic() - _asked_at.get(url, -SHARED_SECONDS) > SHARED_SECONDS:
            _ask(url)
            _asked_at[url] = time.monotonic()
        return server is not None and _seen.get(url) != server


def _ask(url: str) -> None:
    options: dict[str, Any] = {"connect_timeout": TEST_SECONDS, "autocommit": True}
    try:
        connection = _Hasty.connect(url, **options | resolver.resolve(url, options))
        try:
            note(url, connection)
        finally:
            connection.close()
    except (psycopg.Error, OSError):
        return

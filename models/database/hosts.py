"""Which server of a PostgreSQL URL to use: the order of its hosts, and looks at one that does not respond.

A URL may name several hosts, of which one is the primary (docs/operations.md). libpq tries them in the order
of the URL. A frozen host costs its time-out with each new connection, so the host that worked last is first,
and one that is frozen is last.

A failover replaces the server behind a pooler under a session. The pooler sends new statements to the new
server. One that a frozen old server has received gets no response.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import ConnectionTimeout

from models.database import resolver

# Seconds to wait for one of several hosts. libpq's minimum is 2.
HOST_TIMEOUT_SECONDS = 3
# Seconds to wait for a host that is asked only whether it responds. libpq's minimum too.
TEST_SECONDS = 2
# Threads that ask within this time share one answer.
SHARED_SECONDS = 1.5
PORT = "5432"
# A standby has the identifier of its primary, but started at another time. A pooler may let standbys answer.
_PRIMARY = "SELECT pg_postmaster_start_time()::text WHERE NOT pg_is_in_recovery()"

# The host and port of each URL that worked last, and those that accept data and do not respond.
_worked: dict[str, tuple[str, str]] = {}
_frozen: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
# The primary behind each URL that responded last.
_primaries: dict[str, str] = {}


@dataclass
class _Look:
    """The last look at a server, by time.monotonic(), and whether it responded."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    at: float = -math.inf
    responds: bool = True


# By address, and by the URL of a pooler.
_looks: dict[object, _Look] = {}


class _Hasty(psycopg.Connection[Any]):
    """Waits only TEST_SECONDS for a response."""

    def wait(
        self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = TEST_SECONDS
    ) -> Any:
        return super().wait(gen, interval, timeout)


def order(url: str) -> dict[str, Any]:
    """Parameters that override those of ``url``. Empty if it names one host."""
    given = conninfo_to_dict(url)
    pairs = resolver.pairs(str(given.get("host", "")), str(given.get("port", "")))
    if len(pairs) <= 1 or "hostaddr" in given:
        return {}
    places = [(host, port or PORT) for host, port in pairs]
    places.sort(key=lambda place: (place in _frozen[url], place != _worked.get(url)))
    return {
        "host": ",".join(host for host, _ in places),
        "port": ",".join(port for _, port in places),
        "connect_timeout": HOST_TIMEOUT_SECONDS,
        "target_session_attrs": given.get("target_session_attrs", "read-write"),
    }


def remember(url: str, host: str, port: int) -> None:
    """Try this host first from now on."""
    _worked[url] = host, str(port)
    _frozen[url].discard((host, str(port)))


def avoid(url: str, host: str, port: int) -> None:
    """Try this host last until a connection to it succeeds."""
    _frozen[url].add((host, str(port)))


def is_avoided(url: str, host: str, port: int) -> bool:
    """Whether no connection to this host has succeeded since ``avoid``."""
    return (host, str(port)) in _frozen[url]


def responds(url: str, place: psycopg.ConnectionInfo) -> bool:
    """Whether this address responds to a new connection, in any way. Blocks for at most TEST_SECONDS."""
    return _look((place.hostaddr or place.host, place.port), partial(_test, url, place))


def note_primary(url: str, session: psycopg.Connection[Any]) -> None:
    """Ask for the primary over a session. Raises psycopg.Error."""
    for (server,) in session.execute(_PRIMARY).fetchall():
        _primaries[url] = server


def primary_of(url: str) -> str | None:
    """The primary that responded last."""
    return _primaries.get(url)


def has_another_primary(url: str, server: str | None) -> bool:
    """Whether another primary than ``server`` responds by now. Blocks for some seconds if none does.

    A pooler without a free connection does not respond either, so silence means nothing.
    """
    _look(url, partial(_ask, url))
    return server is not None and _primaries.get(url) != server


def _look(subject: object, look: Callable[[], bool]) -> bool:
    """Look whether a server responds, or use another thread's recent look."""
    last = _looks.setdefault(subject, _Look())
    with last.lock:
        if time.monotonic() - last.at > SHARED_SECONDS:
            last.responds = look()
            last.at = time.monotonic()
        return last.responds


def _test(url: str, place: psycopg.ConnectionInfo) -> bool:
    options: dict[str, Any] = {
        # With the address, no name is resolved.
        "host": place.host,
        "hostaddr": place.hostaddr,
        "port": place.port,
        "target_session_attrs": "any",
        "connect_timeout": TEST_SECONDS,
    }
    try:
        psycopg.connect(url, **options).close()
    except (psycopg.Error, OSError) as error:
        # Only silence counts. The wait for the response has its own deadline.
        return not isinstance(error, ConnectionTimeout)
    return True


def _ask(url: str) -> bool:
    options: dict[str, Any] = {"connect_timeout": TEST_SECONDS, "autocommit": True}
    try:
        with closing(_Hasty.connect(url, **options | resolver.resolve(url, options))) as connection:
            note_primary(url, connection)
    except (psycopg.Error, OSError):
        return False
    return True

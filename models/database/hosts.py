"""The order in which the hosts of a PostgreSQL URL are tried, and which of them is frozen.

A URL may name several hosts, of which one is the primary (docs/operations.md). libpq tries them in the order
of the URL. A frozen host costs its time-out with each new connection, so the host that worked last is first,
and one that is frozen is last.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import ConnectionTimeout

# Seconds to wait for one of several hosts. libpq's minimum is 2.
HOST_TIMEOUT_SECONDS = 3
# Seconds to wait for a host that is asked only whether it responds. libpq's minimum too.
TEST_SECONDS = 2
# Threads that ask within this time share one answer.
SHARED_SECONDS = 1.5
PORT = "5432"

# The host and port of each URL that worked last, and those that accept data and do not respond.
_worked: dict[str, tuple[str, str]] = {}
_frozen: dict[str, set[tuple[str, str]]] = {}


@dataclass
class _Test:
    """The last test of a host, by time.monotonic()."""

    lock: threading.Lock
    at: float = -SHARED_SECONDS
    responds: bool = True


_tests: dict[tuple[str, int], _Test] = {}


def order(url: str) -> dict[str, Any]:
    """Parameters that override those of ``url``. Empty if it names one host."""
    given = conninfo_to_dict(url)
    hosts = str(given.get("host", "")).split(",")
    ports = str(given.get("port", "")).split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    # libpq pairs addresses and hosts by their position. It refuses another number of ports.
    if len(hosts) == 1 or "hostaddr" in given or len(ports) != len(hosts):
        return {}
    places = [(host, port or PORT) for host, port in zip(hosts, ports, strict=True)]
    frozen = _frozen.get(url, set())
    places.sort(key=lambda place: (place in frozen, place != _worked.get(url)))
    return {
        "host": ",".join(host for host, _ in places),
        "port": ",".join(port for _, port in places),
        "connect_timeout": HOST_TIMEOUT_SECONDS,
        "target_session_attrs": given.get("target_session_attrs", "read-write"),
    }


def remember(url: str, host: str, port: int) -> None:
    """Try this host first from now on."""
    _worked[url] = host, str(port)
    _frozen.get(url, set()).discard((host, str(port)))


def avoid(url: str, host: str, port: int) -> None:
    """Try this host last until a connection to it succeeds."""
    _frozen.setdefault(url, set()).add((host, str(port)))


def is_avoided(url: str, host: str, port: int) -> bool:
    """Whether no connection to this host has succeeded since ``avoid``."""
    return (host, str(port)) in _frozen.get(url, ())


def responds(url: str, place: psycopg.ConnectionInfo) -> bool:
    """Whether this address responds to a new connection, in any way. Blocks for at most TEST_SECONDS."""
    test = _tests.setdefault((place.hostaddr or place.host, place.port), _Test(threading.Lock()))
    with test.lock:
        if time.monotonic() - test.at > SHARED_SECONDS:
            test.responds = _test(url, place)
            test.at = time.monotonic()
        return test.responds


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
    except ConnectionTimeout:
        return False
    except (psycopg.Error, OSError):
        # Only silence counts. The wait for the response has its own deadline.
        return True
    return True


def forget() -> None:
    """Use the order of the URL again."""
    _worked.clear()
    _frozen.clear()
    _tests.clear()

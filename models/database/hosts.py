"""The order in which the hosts of a PostgreSQL URL are tried.

A URL may name several hosts, of which one is the primary (docs/operations.md). libpq tries them in the order
of the URL. A frozen host costs its time-out with each new connection, so the host that worked last is first.
"""

from typing import Any

from psycopg.conninfo import conninfo_to_dict

# Seconds to wait for one of several hosts. libpq's minimum is 2.
HOST_TIMEOUT_SECONDS = 3
PORT = "5432"

# The host and port of each URL that worked last.
_worked: dict[str, tuple[str, str]] = {}


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
    places.sort(key=lambda place: place != _worked.get(url))
    return {
        "host": ",".join(host for host, _ in places),
        "port": ",".join(port for _, port in places),
        "connect_timeout": HOST_TIMEOUT_SECONDS,
        "target_session_attrs": given.get("target_session_attrs", "read-write"),
    }


def remember(url: str, host: str, port: int) -> None:
    """Try this host first from now on."""
    _worked[url] = host, str(port)


def forget() -> None:
    """Use the order of the URL again."""
    _worked.clear()

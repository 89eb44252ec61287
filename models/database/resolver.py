"""The addresses of the hosts of a PostgreSQL URL, or of Redis. No look-up of a name exceeds its time-out.

psycopg and redis-py resolve names without a time-out: with a silent name server, a connection would take
what resolv.conf says. With addresses beside the names psycopg resolves none, and certificates are still
verified by name. redis-py has no place for addresses: it resolves a name that has just been resolved again.
"""

import os
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from ipaddress import ip_address
from typing import Any

from psycopg import OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import ConnectionTimeout

Addresses = list[str]


def resolve(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Hosts, addresses and ports that override those of ``url`` and of ``options``, which override the URL.

    Empty if there is no name to resolve. PGHOST and PGPORT count where they have no value. Waits for at most
    ``connect_timeout``, in seconds, which ``options`` must have. Raises psycopg.OperationalError if no host
    has an address.
    """
    given = conninfo_to_dict(url, **options)
    # A service file comes before these variables.
    has_service = bool(given.get("service") or os.environ.get("PGSERVICE"))
    known = {} if has_service else os.environ
    given_ports = str(given.get("port") or known.get("PGPORT", ""))
    named = pairs(str(given.get("host") or known.get("PGHOST", "")), given_ports)
    names = [host for host, _ in named if _is_name(host)]
    if not names or given.get("hostaddr") or os.environ.get("PGHOSTADDR"):
        return {}
    found = _look_up(names, options["connect_timeout"])
    addresses = {name: each for name, each in found.items() if isinstance(each, list)}
    problems = {name: each for name, each in found.items() if isinstance(each, OSError)}
    places = [
        (host, address, port)
        for host, port in named
        if host not in problems
        for address in addresses.get(host, [""])
    ]
    if not places:
        raise _error(problems)
    columns = {"host": 0, "hostaddr": 1} | ({"port": 2} if given_ports else {})
    return {name: ",".join(place[at] for place in places) for name, at in columns.items()}


def pairs(hosts: str, ports: str) -> list[tuple[str, str]]:
    """Each host of a list with its port.

    libpq pairs them, and addresses, by their position. Empty if it refuses the number of ports.
    """
    names, numbers = hosts.split(","), ports.split(",")
    numbers = numbers * len(names) if len(numbers) == 1 else numbers
    return list(zip(names, numbers, strict=True)) if len(names) == len(numbers) else []


def check(host: str, seconds: float) -> None:
    """Resolve the name of a host. Raises OSError, which is TimeoutError after so many seconds."""
    if _is_name(host) and isinstance(found := _look_up([host], seconds)[host], OSError):
        raise found


def _is_name(host: str) -> bool:
    """Whether it is neither an address nor the folder of a socket, which starts with a slash or is empty."""
    if not host or host.startswith("/"):
        return False
    try:
        ip_address(host)
    except ValueError:
        return True
    return False


def _look_up(names: Iterable[str], seconds: float) -> dict[str, Addresses | OSError]:
    """The addresses of each name, or why there is none. All look-ups run at the same time."""
    running = {name: _start(name) for name in names}
    end = time.monotonic() + seconds
    found: dict[str, Addresses | OSError] = {}
    for name, future in running.items():
        try:
            found[name] = future.result(max(0, end - time.monotonic()))
        except OSError as error:
            found[name] = error
    return found


def _start(name: str) -> Future[Addresses]:
    future: Future[Addresses] = Future()

    def work() -> None:
        try:
            found = socket.getaddrinfo(
                name, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
            )
            future.set_result([str(place[0]) for *_, place in found])
        except Exception as error:  # noqa: BLE001 - raised where the result is awaited
            future.set_exception(error)

    try:
        # The end of the process does not wait for it.
        threading.Thread(target=work, name="resolver", daemon=True).start()
    except RuntimeError as error:
        future.set_exception(OSError(str(error)))
    return future


def _error(problems: Mapping[str, OSError]) -> OperationalError:
    """The error if no name has an address. TimeoutError has no text."""
    texts = (f"{name!r}: {str(error) or 'no response in time'}" for name, error in problems.items())
    is_silent = any(isinstance(error, TimeoutError) for error in problems.values())
    kind = ConnectionTimeout if is_silent else OperationalError
    return kind(f"failed to resolve host {', '.join(texts)}")

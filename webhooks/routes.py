"""Decides whether this machine, or one destination alone, is the reason that no connection was made."""

import contextlib
import errno
import socket
import time
from collections.abc import Set as AbstractSet

from aiohappyeyeballs import AddrInfoType

# Addresses of documentations, which the default route leads to.
_DISTANT = {socket.AF_INET: ("192.0.2.1", 9), socket.AF_INET6: ("2001:db8::1", 9)}
_FORBIDDEN = (errno.EPERM, errno.EACCES)
# Bounds the memory for forbidden destinations.
MOST_FORBIDDEN = 10_000


class Routes:
    """What earlier connections show. Belongs to one event loop."""

    def __init__(self) -> None:
        self._families: set[int] = set()
        self._last = 0.0
        # When a destination was first forbidden.
        self._forbidden: dict[str, float] = {}

    def note(self, addresses: list[AddrInfoType], made: socket.socket) -> None:
        """A connection to one of the addresses was made."""
        self._families.add(made.family)
        self._last = time.monotonic()
        for info in addresses:
            self._forbidden.pop(str(info[4][0]), None)

    def has_route(self, families: AbstractSet[int]) -> bool:
        """Whether this machine has all routes to addresses of these families that it ever had.

        A host with IPv6 only is no reason to doubt a machine that has a route for IPv4. A machine that
        reaches others by IPv6, and none by IPv4, has no IPv4.
        """
        if socket.AF_INET not in families:
            return _reaches(socket.AF_INET6) or _reaches(socket.AF_INET)
        has_ipv6_only = self._families == {socket.AF_INET6}
        return _reaches(socket.AF_INET) or (has_ipv6_only and _reaches(socket.AF_INET6))

    def is_forbidden_alone(self, addresses: list[AddrInfoType]) -> bool:
        """Whether a destination is forbidden, and others are not.

        Either its route forbids it and the default route works, or another destination was reached since
        this one was first forbidden.
        """
        now, destination = time.monotonic(), str(addresses[0][4][0])
        if len(self._forbidden) >= MOST_FORBIDDEN:
            self._forbidden.clear()
        since = self._forbidden.setdefault(destination, now)
        by_route = all(map(_is_forbidden_by_route, addresses))
        return self._last > since or (by_route and self.has_route({info[0] for info in addresses}))


def _reaches(family: socket.AddressFamily) -> bool:
    with contextlib.suppress(OSError):
        _find_route(family, _DISTANT[family])
        return True
    return False


def _is_forbidden_by_route(info: AddrInfoType) -> bool:
    try:
        _find_route(info[0], info[4])
    except OSError as error:
        return error.errno in _FORBIDDEN
    return False


def _find_route(family: int, place: tuple[str, int] | tuple[str, int, int, int]) -> None:
    # To connect a socket of UDP looks for a route, and sends nothing.
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(place)

"""Opens connections to receivers: the only module that calls their addresses."""

import asyncio
import contextlib
import errno
import functools
import re
import socket
import ssl
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import aiohappyeyeballs
from aiohappyeyeballs import AddrInfoType

from webhooks.address import Origin, look_up, spelled_address
from webhooks.connections import Connection
from webhooks.faults import FIREWALL, NETWORK, PORTS, RESOLVER, TRUST, MachineError, cause_of
from webhooks.resolver import Resolver

# RFC 8305: the pause before the next address of a name is tried too, in seconds.
NEXT_ADDRESS_SECONDS = 0.25
# The kernel gives a silent connection up after this many ms. Every exchange has a shorter deadline.
SILENT_MS = 30_000
# A route of the type blackhole gives EINVAL.
_WITHOUT_ROUTE = {
    None,
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
    errno.EADDRNOTAVAIL,
    errno.EINVAL,
}
# The name of a certificate that OpenSSL finds in a folder.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
# Addresses of documentations, which the default route leads to.
_DISTANT = {socket.AF_INET: ("192.0.2.1", 9), socket.AF_INET6: ("2001:db8::1", 9)}
_FORBIDDEN = (errno.EPERM, errno.EACCES)
# Bounds the memory for forbidden destinations.
MOST_FORBIDDEN = 10_000


@functools.cache
def system_trust() -> ssl.SSLContext:
    """A TLS context with the system's certificate authorities.

    Not from ssl.create_default_context, which would write session keys to the file in SSLKEYLOGFILE.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_default_certs()
    return context


class Connector:
    """Connects to allowed addresses. Belongs to one event loop.

    ``ssl_context`` and ``nameservers`` are for tests with their own CA and name server.
    """

    def __init__(
        self,
        *,
        allow_local: bool,
        ssl_context: ssl.SSLContext | None,
        nameservers: Sequence[str] | None,
    ) -> None:
        self._allow_local = allow_local
        self._ssl_context = ssl_context
        self._names = Resolver(nameservers)
        self._routes = _Routes()

    async def look_up(self, origin: Origin) -> list[AddrInfoType]:
        """The checked addresses of a host. Raises AddressRefusedError or MachineError."""
        if (spelled := spelled_address(origin.host)) is not None:
            # The caller has checked it by sight.
            found = [spelled]
        else:
            found = await look_up(self._names, origin.host, allow_local=self._allow_local)
        return [_address_info(address, origin.port) for address in found]

    async def open(
        self, addresses: list[AddrInfoType], origin: Origin, connection: Connection
    ) -> None:
        """Connect to one of the addresses. Raises OSError, or MachineError."""
        await asyncio.get_running_loop().create_connection(
            lambda: connection,
            sock=await _connect(addresses, self._routes),
            ssl=(self._ssl_context or system_trust()) if origin.is_tls else None,
            # The dot of an absolute name belongs to name servers only.
            server_hostname=origin.host.rstrip(".") if origin.is_tls else None,
        )

    async def check_names(self) -> None:
        """Raise MachineError if no name server responds."""
        if not await self._names.responds():
            raise MachineError(RESOLVER)

    def check_route(self) -> None:
        """Raise MachineError if this machine has no route. Loopback needs none."""
        if not self._allow_local and not self._routes.has_route({socket.AF_INET6}):
            raise MachineError(NETWORK)

    def check_trust(self, error: ssl.SSLCertVerificationError) -> None:
        """Raise MachineError if a certificate was refused because this machine knows no authorities."""
        if self._ssl_context is None and not _has_authorities():
            system_trust.cache_clear()
            raise MachineError(TRUST) from error

    async def close(self) -> None:
        """Cancel running look-ups."""
        await self._names.aclose()


class _Routes:
    """Decides whether this machine, or one destination alone, is the reason that no connection was made.

    Belongs to one event loop.
    """

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
    return _find_route(family, _DISTANT[family]) == 0


def _is_forbidden_by_route(info: AddrInfoType) -> bool:
    return _find_route(info[0], info[4]) in _FORBIDDEN


def _find_route(family: int, place: tuple[str, int] | tuple[str, int, int, int]) -> int | None:
    """The error of the route to a place, 0 if there is a route."""
    try:
        # To connect a socket of UDP looks for a route, and sends nothing.
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            return probe.connect_ex(place)
    except OSError as error:
        return error.errno


async def _connect(addresses: list[AddrInfoType], routes: _Routes) -> socket.socket:
    unmade: list[OSError] = []

    def make(info: AddrInfoType) -> socket.socket:
        try:
            return _make_socket(info)
        except OSError as error:
            unmade.append(error)
            raise

    try:
        made = await aiohappyeyeballs.start_connection(
            addresses, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS, socket_factory=make
        )
    except OSError as error:
        # Several errors of one name may have no common number.
        cause = next(filter(None, map(cause_of, [error, *unmade])), None)
        families = {info[0] for info in addresses}
        if (cause == PORTS and families == {socket.AF_INET6}) or (
            cause == FIREWALL and not unmade and routes.is_forbidden_alone(addresses)
        ):
            cause = None
        if cause is None and error.errno in _WITHOUT_ROUTE and not routes.has_route(families):
            cause = NETWORK
        if cause is not None:
            raise MachineError(cause) from error
        # Its number is judged here only.
        raise OSError(str(error)) from error
    routes.note(addresses, made)
    return made


def _has_authorities() -> bool:
    """Whether the system's file or folder has certificates that OpenSSL finds."""
    loaded = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    loaded.load_default_certs()
    if loaded.cert_store_stats()["x509"]:
        return True
    # The files of the folder are read only when a certificate is checked.
    folder = Path(str(ssl.get_default_verify_paths().capath))
    with contextlib.suppress(OSError):
        return any(_HASHED.fullmatch(each.name) and each.is_file() for each in folder.iterdir())
    return False


def _address_info(address: str, port: int) -> AddrInfoType:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    place = (address, port, 0, 0) if ":" in address else (address, port)
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place


def _make_socket(info: AddrInfoType) -> socket.socket:
    made = socket.socket(info[0], info[1], info[2])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_MS)
    return made

"""Parses the URLs of webhooks, and decides which addresses they may have (ADR 12).

Public addresses are allowed over https. Settings can also allow http and loopback. Private, link-local and
metadata addresses are never allowed.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from yarl import URL

from webhooks.faults import RESOLVER, MachineError
from webhooks.resolver import Resolver, UnresolvedError

LOOK_UP_SECONDS = 5
# The reason for a URL that is not one of HTTP.
UNCALLABLE = "the url cannot be called."
SCHEMES = {"http", "https"}
# They would end the request's first line early.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
LOOPBACK = [ipaddress.ip_network(network) for network in ("127.0.0.0/8", "::1/128")]

# The registries of special addresses (RFC 6890 and the RFCs below). They are listed here, because Python's
# table differs between versions.
SPECIAL = [
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # This network. 0.0.0.0 reaches the machine itself.
        "10.0.0.0/8",  # Private.
        "100.64.0.0/10",  # Carrier-grade NAT.
        "127.0.0.0/8",  # Loopback.
        "168.63.129.16/32",  # A cloud's host agent. The address only looks public.
        "169.254.0.0/16",  # Link-local, with the metadata services of most clouds.
        "172.16.0.0/12",  # Private.
        "192.0.0.0/24",  # Protocol assignments, with a cloud's metadata service.
        "192.0.2.0/24",  # Documentation.
        "192.88.99.0/24",  # 6to4 relays.
        "192.168.0.0/16",  # Private.
        "198.18.0.0/15",  # Benchmarks.
        "198.51.100.0/24",  # Documentation.
        "203.0.113.0/24",  # Documentation.
        "224.0.0.0/4",  # Multicast.
        "240.0.0.0/4",  # Reserved, with broadcast.
        "2001::/23",  # Protocol assignments: Teredo (which carries IPv4), benchmarks, ORCHID.
        "2001:db8::/32",  # Documentation.
        "2002::/16",  # 6to4, which carries IPv4.
        "3fff::/20",  # Documentation (RFC 9637).
    )
]
# The IPv6 addresses of the internet. This excludes loopback, private, link-local and multicast addresses,
# and mapped, compatible or translated IPv4 addresses (RFC 4291, RFC 6052, RFC 8215).
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# The second half of an ISATAP address is this mark, with or without the bit "universal", followed by
# an IPv4 address (RFC 5214).
ISATAP_MARK = 0x00005EFE
UNIVERSAL_BIT = 0x02000000
# The texts of AddressRefusedError. The fields are the host and its address.
NOT_PUBLIC = 'The host "{}" has the address "{}", which is not public.'
ODD_SPELLING = 'The host "{}" is an odd spelling of "{}".'
UNRESOLVED = 'The host "{}" does not resolve to public addresses.'
HTTPS_ONLY = "The url must start with https://."
NO_CREDENTIALS = "The url must not contain credentials."


class AddressRefusedError(Exception):
    """The address may not be called. The text says why."""


def is_public(address: str) -> bool:
    """Whether an IP address is routed on the internet and contains no other address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        mark = (int(ip) >> 32) & 0xFFFFFFFF & ~UNIVERSAL_BIT
        if ip not in GLOBAL_UNICAST or mark == ISATAP_MARK:
            return False
    return not any(ip in network for network in SPECIAL)


# A cache, because each attempt checks its address, and most addresses repeat.
@lru_cache(maxsize=4096)
def may_be_called(address: str, *, allow_local: bool) -> bool:
    """Whether an IP address is public, or loopback if ``allow_local``."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return is_public(address) or (allow_local and any(ip in network for network in LOOPBACK))


@lru_cache(maxsize=4096)
def spelled_address(host: str) -> str | None:
    """The IP address of a host that is one, in any spelling. None for a name.

    The system accepts more spellings of an IPv4 address than four decimal numbers: "127.1", "0x7f000001",
    "0177.0.0.1" and "2130706433" are all 127.0.0.1.
    """
    bare = host.rstrip(".")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(bare))
    except (OSError, ValueError):
        return None


def refuse_by_sight(target: URL, *, allow_local: bool) -> None:
    """Raise AddressRefusedError for a URL that is not allowed. Does not resolve its name."""
    # Not URL.host, which decodes Punycode and raises an error if it cannot.
    host = target.raw_host or ""
    address = spelled_address(host)
    if address is not None:
        if not may_be_called(address, allow_local=allow_local):
            raise AddressRefusedError(NOT_PUBLIC.format(host, address))
        if ":" not in address and address != host:
            raise AddressRefusedError(ODD_SPELLING.format(host, address))
    if target.scheme != "https" and not allow_local:
        raise AddressRefusedError(HTTPS_ONLY)


class Origin(NamedTuple):
    """The server that a connection leads to."""

    host: str
    port: int
    is_tls: bool


@dataclass(frozen=True)
class Target:
    """Where a request goes. ``path`` includes the query, and ``host`` is the value of the header Host."""

    origin: Origin
    host: str
    path: str


# A cache, because the same few URLs get many deliveries.
@lru_cache(maxsize=4096)
def parse_target(url: str, *, allow_local: bool) -> Target:
    """Parse a URL, which is called as it was registered. Raises AddressRefusedError."""
    try:
        target = URL(url, encoded=True)
        host, port = target.raw_host or "", target.port
    except ValueError:
        raise AddressRefusedError(UNCALLABLE) from None
    if target.user is not None or target.password is not None:
        raise AddressRefusedError(NO_CREDENTIALS)
    # An IP address as host never reaches the resolver.
    refuse_by_sight(target, allow_local=allow_local)
    path = target.raw_path_qs or "/"
    if target.scheme not in SCHEMES or not host or not port or _CONTROLS.search(host + path):
        raise AddressRefusedError(UNCALLABLE)
    origin = Origin(host, port, target.scheme == "https")
    return Target(origin, target.host_port_subcomponent or host, path)


async def look_up(names: Resolver, host: str, *, allow_local: bool) -> list[str]:
    """The addresses of a name. Raises AddressRefusedError unless all of them may be called.

    The text is the same for an unknown name and for one that is not public, because customers must not
    learn which names the operator's name servers know, nor their addresses.
    """
    try:
        found = await names.look_up(host)
    except UnresolvedError:
        found = []
    if not found or not all(may_be_called(each, allow_local=allow_local) for each in found):
        raise AddressRefusedError(UNRESOLVED.format(host))
    return found


def check_url(url: str, *, allow_local: bool, nameservers: Sequence[str] | None = None) -> None:
    """Check a webhook's URL before it is stored. Raises AddressRefusedError or MachineError.

    The caller has checked its form. Names are resolved here, and again in each attempt. Waits for name
    servers, so it must not be called on an event loop.
    """
    target = URL(url, encoded=True)
    refuse_by_sight(target, allow_local=allow_local)
    host = target.raw_host or ""
    # A developer's machine may be offline, so only the attempts resolve names.
    if spelled_address(host) is None and not allow_local:
        asyncio.run(_check_name(host, nameservers))


async def _check_name(host: str, nameservers: Sequence[str] | None) -> None:
    async with aclosing(Resolver(nameservers)) as names:
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                await look_up(names, host, allow_local=False)
        except TimeoutError:
            if not await names.responds():
                raise MachineError(RESOLVER) from None
            raise AddressRefusedError(UNRESOLVED.format(host)) from None

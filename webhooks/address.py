"""Which addresses a webhook may have (decision 19 of the design)."""

import ipaddress
import socket
from urllib.parse import urlsplit

# All of IPv6 that is assigned to the internet; the translations of IPv4 (RFC 6052, RFC 8215) lie outside.
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class AddressRefusedError(Exception):
    """The address may not be called. The text says why."""


def is_public(address: str) -> bool:
    """Whether an IP address is one that the internet routes to, and no disguise of another one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is not None or ip not in GLOBAL_UNICAST:
            return False
    return ip.is_global and not ip.is_multicast


def refuse_unless_public(host: str, addresses: list[str]) -> None:
    """Raise AddressRefusedError when any of the addresses of ``host`` is not public."""
    for address in addresses:
        if not is_public(address):
            raise AddressRefusedError(
                f"The host {host} has the address {address}, which is not public."
            )


def check_url(url: str, *, allow_local: bool) -> None:
    """Check a webhook's URL before it is stored. Raises AddressRefusedError.

    The contract has checked its form. Names are resolved here, and again at each attempt.
    """
    parts = urlsplit(url)
    if allow_local:
        return
    if parts.scheme != "https":
        raise AddressRefusedError("The url must start with https://.")
    host = parts.hostname or ""
    try:
        found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressRefusedError(f"The host {host} cannot be resolved.") from None
    refuse_unless_public(host, [str(entry[4][0]) for entry in found])

"""The one ASCII spelling in which the host of a webhook's URL is stored (ADR 12).

Rows, budgets and requests have only this spelling, so nothing after the creation needs to know Unicode.
"""

import re
from ipaddress import IPv6Address

import idna

from webhooks.address import AddressRefusedError

# The last label begins with a letter, or it could be read as a number of an IPv4 address.
_NAME = re.compile(r"([a-z0-9-]{1,63}\.)*[a-z][a-z0-9-]{0,62}")
# The texts of AddressRefusedError. The fields are the host, and the reason.
NOT_IPV6 = 'The host "{}" is not an IPv6 address.'
NOT_A_NAME = 'The host "{}" is not a valid internationalized name: {}.'
NOT_A_HOST = "its ASCII form is not a host name"


def ascii_host(host: str, *, allow_invalid: bool) -> str:
    """The spelling to store: the shortest of an IPv6 address in brackets (RFC 5952), IDNA 2008 of a name.

    ASCII names and IPv4 addresses stay as they are. Raises AddressRefusedError. With ``allow_invalid``, a
    name that IDNA refuses gets its Punycode instead: no name server can know it.
    """
    if host.startswith("["):
        return f"[{_ipv6(host)}]"
    if host.isascii():
        return host
    try:
        return _encode(host)
    except UnicodeError as error:
        if allow_invalid:
            return ".".join(map(_punycode, host.split(".")))
        raise AddressRefusedError(NOT_A_NAME.format(host, error)) from None


def _ipv6(host: str) -> IPv6Address:
    try:
        address = IPv6Address(host[1:-1])
    except ValueError:
        raise AddressRefusedError(NOT_IPV6.format(host)) from None
    if address.scope_id is not None:
        # A zone names an interface of this machine.
        raise AddressRefusedError(NOT_IPV6.format(host))
    return address


def _encode(host: str) -> str:
    """The ASCII form of a name. Raises UnicodeError."""
    found = idna.encode(host, uts46=True).decode("ascii")
    # The mapping of UTS 46 can result in an address, or in a dot at the end.
    if not _NAME.fullmatch(found):
        raise UnicodeError(NOT_A_HOST)
    return found


def _punycode(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"

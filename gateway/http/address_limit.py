"""How many connections one client address may hold at once, so that one client cannot take them all.

An IPv6 client has a whole /64 network to choose addresses from, so that network counts as one address.
"""

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from models.client_address import one_client

logger = logging.getLogger(__name__)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

EVERYBODY = "*"
# A flood of connections must not become a flood of log lines.
SAY_SECONDS = 10


class TooManyConnectionsError(Exception):
    """The address holds as many connections as it may."""


class AddressLimit:
    """The open connections of this process, by client address: at most ``most`` each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()
        self._quiet_until = 0.0

    def enter(self, client: str, proxies: Sequence[str] | str) -> str | None:
        """Count a connection, to be passed to ``leave`` when it ends; None for one that is not counted.

        ``proxies`` are addresses and networks as FORWARDED_ALLOW_IPS has them: a proxy brings the
        connections of many clients, and limits them itself. Raises TooManyConnectionsError.
        """
        address = _parse(client)
        if address is None or self.spares(address, proxies):
            return None
        counted = one_client(client)
        if self._open[counted] >= self._most:
            self._say(counted)
            raise TooManyConnectionsError
        self._open[counted] += 1
        return counted

    def leave(self, counted: str | None) -> None:
        """A connection ended."""
        if counted is not None:
            self._open -= Counter({counted: 1})

    def spares(self, address: Address, proxies: Sequence[str] | str) -> bool:
        """Whether an address may hold any number: this machine's own, and the proxies'."""
        if address.is_loopback:
            return True
        joined = proxies if isinstance(proxies, str) else ",".join(proxies)
        return any(address in network for network in _networks(joined))

    def _say(self, counted: str) -> None:
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + SAY_SECONDS
            logger.warning("connection refused: %s holds %d already", counted, self._most)


def _parse(client: str) -> Address | None:
    """The address, an IPv4 one where IPv6 only wraps it; None for what is none, such as a Unix socket."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(maxsize=8)
def _networks(proxies: str) -> tuple[Network, ...]:
    """The networks, of one address perhaps. uvicorn takes names and paths as well, which are none."""
    if proxies.strip() == EVERYBODY:
        proxies = "0.0.0.0/0,::/0"
    found = []
    for text in proxies.split(","):
        with suppress(ValueError):
            found.append(ipaddress.ip_network(text.strip(), strict=False))
    return tuple(found)

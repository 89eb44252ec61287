"""Limits the concurrent connections of one client address, so that one client cannot take them all.

An IPv6 client can use all addresses of a /64 network, so that network counts as one address.
"""

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from models.accounts.client_address import one_client

logger = logging.getLogger(__name__)

EVERY_ADDRESS = {"*": "0.0.0.0/0,::/0"}
# A flood of connections must not become a flood of log lines.
WARNING_SECONDS = 10


class AddressLimit:
    """The open connections of this process, by client address: at most ``most`` each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()
        self._quiet_until = 0.0

    def enter(self, client: str, proxies: Sequence[str] | str) -> str | None:
        """Count a connection, to be passed to ``leave`` when it ends; None for one that is not counted.

        ``proxies`` are addresses and networks as FORWARDED_ALLOW_IPS has them: a proxy brings the
        connections of many clients, and limits them itself. Raises ConnectionRefusedError.
        """
        if self.spares(client, proxies):
            return None
        counted = one_client(client)
        if self._open[counted] >= self._most:
            if time.monotonic() >= self._quiet_until:
                self._quiet_until = time.monotonic() + WARNING_SECONDS
                logger.warning("connection refused: %s holds %d already", counted, self._most)
            raise ConnectionRefusedError
        self._open[counted] += 1
        return counted

    def leave(self, counted: str | None) -> None:
        """A connection ended."""
        if counted is not None:
            self._open -= Counter({counted: 1})

    def spares(self, client: str, proxies: Sequence[str] | str) -> bool:
        """Whether a client has no limit: this machine, a proxy, or a Unix socket."""
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return True
        if isinstance(address, ipaddress.IPv6Address):
            address = address.ipv4_mapped or address
        joined = proxies if isinstance(proxies, str) else ",".join(proxies)
        return address.is_loopback or any(address in network for network in _networks(joined))


@lru_cache(maxsize=8)
def _networks(proxies: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks and addresses. uvicorn also accepts names and paths, which are skipped."""
    found = []
    for text in EVERY_ADDRESS.get(proxies.strip(), proxies).split(","):
        with suppress(ValueError):
            found.append(ipaddress.ip_network(text.strip(), strict=False))
    return found

"""Limits the concurrent connections of one client address, so that one client cannot take them all.

An IPv6 client can use all addresses of a /64 network, so that network counts as one address.
"""

import ipaddress
import logging
import time
from collections import Counter

from models.accounts.client_address import one_client

logger = logging.getLogger(__name__)

# A flood of connections must not become a flood of log lines.
WARNING_SECONDS = 10


class AddressLimit:
    """The open connections of this process, by client address: at most ``most`` each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()
        self._quiet_until = 0.0

    def enter(self, client: str) -> str | None:
        """Count a connection, to be passed to ``leave`` when it ends; None for one that is not counted.

        Raises ConnectionRefusedError.
        """
        if self.spares(client):
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
        if counted is not None:
            self._open -= Counter({counted: 1})

    def spares(self, client: str) -> bool:
        """Whether a client has no limit: this machine, or a Unix socket."""
        return not client or ipaddress.ip_address(client).is_loopback

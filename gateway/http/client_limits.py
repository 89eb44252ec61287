"""Limits what one client can hold: connections, and a connection after the client vanished.

An IPv6 client can use all addresses of a /64 network, so that network counts as one address.

A client that lost its machine or network closes no connection. By default Linux then sends the same bytes
again for 16 minutes, and waits for ever where there are none. Until then a stream of events holds one of its
account's places.
"""

import ipaddress
import logging
import socket
import time
from collections import Counter
from typing import Any

from models.accounts.client_address import one_client

logger = logging.getLogger(__name__)

# A flood of connections must not become a flood of log lines.
WARNING_SECONDS = 10
# A silent connection is probed after this many seconds, and then at this interval. Event streams send a
# comment every 15 seconds, so they rarely need it.
IDLE_SECONDS, INTERVAL_SECONDS = 15, 5
# After as many probes without an answer the connection is closed.
PROBES = 6


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


def notice_vanished(accepted: Any, seconds: float) -> None:
    """Have the kernel close the connection of this socket ``seconds`` after bytes that nobody confirmed."""
    if accepted is None or accepted.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, IDLE_SECONDS),
        (socket.TCP_KEEPINTVL, INTERVAL_SECONDS),
        (socket.TCP_KEEPCNT, PROBES),
        (socket.TCP_USER_TIMEOUT, round(seconds * 1000)),
    ):
        accepted.setsockopt(socket.IPPROTO_TCP, option, value)

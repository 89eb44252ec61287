"""Notices clients that vanished without closing their connection: a lost machine, a cut network.

Without these options Linux sends the same bytes again for 16 minutes, and waits for ever where there are
none. Until then a stream of events holds one of its account's places.
"""

import socket
from typing import Any

# A silent connection is probed after this many seconds, and then at this interval. Event streams send a
# comment every 15 seconds, so they rarely need it.
IDLE_SECONDS, INTERVAL_SECONDS = 15, 5
# After as many probes without an answer the connection is closed.
PROBES = 6


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

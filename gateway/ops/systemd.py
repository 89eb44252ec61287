"""Tells systemd the state of this process: sd_notify(3). Does nothing elsewhere."""

import os
import socket
from contextlib import suppress

READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"


def report(state: str) -> None:
    """Send a state, without waiting. A lost one is repeated or has no effect."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    # An abstract address begins with a zero byte, which a variable cannot hold.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(0)
        sender.sendto(state.encode(), place)

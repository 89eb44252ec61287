"""Runs a command in a new network with only a loopback interface (``unshare --net``)."""

import errno
import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP = 1
# An address of a network reserved for documentation (RFC 5737).
SOMEWHERE = ("192.0.2.1", 9)


def main() -> None:
    """Bring up the loopback, check that nothing else is reachable, and become the command."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
        # Connecting a datagram socket sends nothing.
        if probe.connect_ex(SOMEWHERE) != errno.ENETUNREACH:
            sys.exit("This network has a route to other machines.")
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell, and our own command


if __name__ == "__main__":
    main()

"""Runs a command in a new network, whose only part is the loopback (``unshare --net``)."""

import errno
import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP = 1
# Of a network that is for documentation only (RFC 5737).
SOMEWHERE = ("192.0.2.1", 9)


def main() -> None:
    """Bring the loopback up, see that nothing else is there, and become the command."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
        # To connect a datagram socket sends nothing.
        if probe.connect_ex(SOMEWHERE) != errno.ENETUNREACH:
            sys.exit("This network leads out of the machine.")
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell, and a command of ours


if __name__ == "__main__":
    main()

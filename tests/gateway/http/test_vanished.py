"""A client that vanished without closing its connection loses it within a minute."""

import ctypes
import socket
import struct
from contextlib import closing
from dataclasses import replace

import pytest

from gateway.http.connections import Bounds
from services.streams import KEEP_ALIVE_SECONDS
from tests.gateway.http.test_connections import SHORT, Client, Server

SECONDS = 10
TRICKLE = b"GET /trickle HTTP/1.1\r\nHost: localhost\r\n\r\n"
# <asm/socket.h> and <linux/filter.h>: a program of one instruction, which drops each packet.
SO_ATTACH_FILTER, DROP = 26, struct.pack("HBBI", 0x06, 0, 0, 0)
OPTIONS = {
    "TCP_USER_TIMEOUT": round(Bounds.unconfirmed * 1000),
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 6,
}


def _vanish(client: Client) -> None:
    """Let the kernel drop all that comes for this client. Its peer gets no ACK, FIN or RST."""
    program = ctypes.create_string_buffer(DROP)
    filter_ = struct.pack("HP", 1, ctypes.addressof(program))
    client.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_bytes_that_nobody_confirms_end_the_connection(loop: str) -> None:
    with closing(Server(loop)) as server:
        server.protocol.bounds = replace(SHORT, unconfirmed=1)
        with closing(server.connect()) as client, closing(server.connect()) as other:
            for each in (client, other):
                each.say(TRICKLE)
                assert each.socket.recv(1)
            _vanish(client)
            assert server.ended.wait(SECONDS)
            # The other one reads on.
            for _ in range(100):
                assert other.socket.recv(1)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_every_connection_is_watched_by_the_kernel(loop: str) -> None:
    with closing(Server(loop)) as server, closing(server.connect()) as client:
        server.protocol.bounds = Bounds()
        with closing(server.connect()) as second:
            for each in (client, second):
                each.say(TRICKLE)
                assert each.socket.recv(1)
            accepted = server.accepted[-1]
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            found = {
                name: accepted.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                for name in OPTIONS
            }
    assert found == OPTIONS
    assert KEEP_ALIVE_SECONDS + Bounds.unconfirmed < 60

"""The sockets of the network's client."""

import socket

from networks.whatsapp.graph import LOST_MS, make_socket


def test_the_kernel_ends_a_connection_to_a_lost_machine() -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 1))
    with make_socket(info) as made:
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == LOST_MS

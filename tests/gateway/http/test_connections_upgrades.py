"""A request that offers another protocol is read as HTTP/1.1 (RFC 9110, section 7.8)."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from contract_tests.raw_http import SECONDS
from gateway.http.connections import GatewayProtocol

HOST = b"Host: localhost\r\n"
# In the format of Java's HTTP client.
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAA\r\nUpgrade: h2c\r\n"
SOCKET = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n"
LENGTH = b"Content-Length: 5\r\n"
PLAIN = b"GET /next HTTP/1.1\r\n" + HOST + b"\r\n"


def post(*headers: bytes, version: bytes = b"1.1") -> bytes:
    """The head of a request with these headers."""
    return b"POST /first HTTP/%s\r\n%s%s\r\n" % (version, HOST, b"".join(headers))


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with the request."""
    body = (await Request(scope, receive).body()).decode()
    names = sorted(name.decode() for name, _ in scope["headers"])
    answer = json.dumps([scope["method"], scope["path"], body, names]).encode()
    headers = [(b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


@pytest.fixture
def port() -> Iterator[int]:
    """A running server."""
    listener = socket.create_server(("127.0.0.1", 0))
    settings = {"http": GatewayProtocol, "ws": "none", "lifespan": "off", "log_config": None}
    server = uvicorn.Server(uvicorn.Config(_echo, **settings))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield int(listener.getsockname()[1])
    server.should_exit = True
    thread.join()


class Client:
    """A connection to it."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self._socket.makefile("rb")
        self.say = self._socket.sendall

    def close(self) -> None:
        """End it."""
        self.stream.close()
        self._socket.close()

    def hear(self) -> Any:
        """The next response, parsed. Its status must be 200."""
        assert self.stream.readline() == b"HTTP/1.1 200 OK\r\n"
        length = 0
        while (line := self.stream.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            length = int(value) if name == b"content-length" else length
        return json.loads(self.stream.read(length))


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    """A client of the server."""
    with closing(Client(port)) as made:
        yield made


def seen(*names: str) -> list[Any]:
    """The response to the request with the body."""
    return ["POST", "/first", "hello", sorted(["host", "connection", "http2-settings", *names])]


def test_the_body_behind_an_offer_is_read_and_the_offer_is_not_seen(client: Client) -> None:
    client.say(post(OFFER, LENGTH) + b"hello")
    assert client.hear() == seen("content-length")


@pytest.mark.parametrize("cut", [1, 20, 100, -7, -5, -4, -3, -1])
def test_a_request_may_come_in_two_segments(port: int, client: Client, cut: int) -> None:
    raw = post(OFFER, LENGTH) + b"hello"
    client.say(raw[:cut])
    # The server has read the first half once it responds on another connection.
    with closing(Client(port)) as other:
        other.say(PLAIN)
        other.hear()
    client.say(raw[cut:])
    assert client.hear() == seen("content-length")


def test_a_body_in_chunks_is_read(client: Client) -> None:
    head = post(OFFER, b"Transfer-Encoding: chunked\r\n")
    client.say(head + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
    assert client.hear() == seen("transfer-encoding")


def test_a_client_that_expects_100_continue_gets_it(client: Client) -> None:
    client.say(post(OFFER, LENGTH, b"Expect: 100-continue\r\n"))
    assert client.stream.readline() == b"HTTP/1.1 100 Continue\r\n"
    assert client.stream.readline() == b"\r\n"
    client.say(b"hello")
    assert client.hear() == seen("content-length", "expect")


@pytest.mark.parametrize("offer", [OFFER, SOCKET], ids=["h2c", "websocket"])
def test_requests_behind_an_offer_are_answered_in_their_order(client: Client, offer: bytes) -> None:
    client.say((post(offer, LENGTH) + b"hello") * 3 + PLAIN)
    assert [client.hear()[1:3] for _ in range(4)] == [*[["/first", "hello"]] * 3, ["/next", ""]]
    client.say(PLAIN)
    assert client.hear()[1] == "/next"


@pytest.mark.parametrize(
    ("version", "offer"),
    [(b"1.1", b"Connection: close, Upgrade\r\nUpgrade: h2c\r\n"), (b"1.0", OFFER)],
)
def test_the_last_request_of_a_connection_is_read_too(
    client: Client, version: bytes, offer: bytes
) -> None:
    client.say(post(offer, LENGTH, version=version) + b"hello")
    assert client.hear()[2] == "hello"
    assert client.stream.read() == b""


def test_thousands_of_offers_at_once_are_read_one_by_one(client: Client) -> None:
    count = 2_000
    sender = threading.Thread(target=client.say, args=(post(OFFER) * count,))
    sender.start()
    assert {client.hear()[1] for _ in range(count)} == {"/first"}
    sender.join()


def test_a_head_is_bounded_with_an_offer_as_well(client: Client) -> None:
    client.say(post(OFFER, b"X-Padding: " + b"x" * 40_000 + b"\r\n"))
    assert client.stream.readline().startswith(b"HTTP/1.1 431 ")


def test_data_after_an_upgrade_offer_that_is_not_http_is_refused(client: Client) -> None:
    client.say(post(OFFER) + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert client.hear()[0] == "POST"
    assert client.stream.readline().startswith(b"HTTP/1.1 400 ")

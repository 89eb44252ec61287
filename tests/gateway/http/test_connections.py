"""A client that is too slow, or has too many connections, is disconnected."""

import asyncio
import gc
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from contextvars import ContextVar
from dataclasses import replace
from http.client import HTTPResponse
from typing import Any
from weakref import WeakSet

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from contract_tests.raw_http import SECONDS
from gateway.http.client_limits import AddressLimit
from gateway.http.connections import Bounds, GatewayProtocol
from tests.waiting import until

HEAD = b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
# More than the kernel's buffers hold.
LARGE = 16 * 1024 * 1024
BUFFER = 256 * 1024
SHORT = Bounds(head=0.4, piece=0.4, body=1.2, unread=0.4, tick=0.05)
IDLE_SECONDS = 2
# As much as uvicorn buffers before it pauses, and more than the kernel's small buffers hold.
REST = 60 * 1024
SMALL = 4096
# A timeout that no test reaches.
NEVER = 3600
MOST = 3


class LimitedLoopback(AddressLimit):
    """Counts the connections of this machine as well."""

    def spares(self, _: str) -> bool:
        """No address."""
        return False


class Request:
    """Stands for what a request holds in memory."""


in_progress: ContextVar[Request] = ContextVar("in_progress")


class App:
    """Responds according to the path, and signals when a request is complete or lost."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self.requests = WeakSet[Request]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        request = Request()
        self.requests.add(request)
        # As Connexion does with the scope. The context ends with the task.
        in_progress.set(request)
        if scope["path"] == "/early":
            await _answer(send, b"early")
            return
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.left.set()
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        match scope["path"]:
            case "/slow":
                # Until the client has disconnected.
                await receive()
            case "/trickle":
                await _trickle(send, self.left)
            case "/large":
                await _answer(send, *[bytes(LARGE // 16)] * 16)
            case "/at-once":
                await _answer(send, bytes(LARGE))
            case "/rest":
                await _answer(send, bytes(REST))
            case _:
                await _answer(send, body)
        self.left.set()


async def _answer(send: Send, *pieces: bytes) -> None:
    headers = [(b"content-length", b"%d" % sum(map(len, pieces)))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number, piece in enumerate(pieces, 1):
        more = number < len(pieces)
        await send({"type": "http.response.body", "body": piece, "more_body": more})


async def _trickle(send: Send, left: threading.Event) -> None:
    """A response without an end, like a stream of events."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while not left.is_set():
        await send({"type": "http.response.body", "body": b":", "more_body": True})
        await asyncio.sleep(0.02)


class Server:
    """A server with its own application and limits."""

    def __init__(self, loop: str, proxies: list[str] | str = "") -> None:
        self.app = App()
        self.ended = ended = threading.Event()
        self.accepted = accepted = list[Any]()

        class Protocol(GatewayProtocol):
            bounds = SHORT
            address_limit = AddressLimit(MOST)

            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                accepted.append(transport.get_extra_info("socket"))

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                ended.set()

        self.protocol = Protocol
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        config = uvicorn.Config(
            self.app,
            http=Protocol,
            loop=loop,
            ws="none",
            lifespan="off",
            log_config=None,
            timeout_keep_alive=IDLE_SECONDS,
            forwarded_allow_ips=proxies,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self.listener],))
        self._thread.start()

    def connect(self, *, source: str = "127.0.0.1", buffer: int = BUFFER) -> "Client":
        """A new client, with a kernel buffer of about this many bytes."""
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        return Client(self.port, source, buffer)

    def close(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join()


class Answer(HTTPResponse):
    """A parsed response."""

    body = b""


class Client:
    """A connection."""

    def __init__(self, port: int, source: str, buffer: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(SECONDS)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))
        self.begun = time.monotonic()

    def say(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def hear(self) -> "Answer":
        """The next response, its body in ``body``."""
        answer = Answer(self.socket)
        answer.begin()
        answer.body = answer.read()
        return answer

    def trickle(self, pause: float) -> int:
        """Send a byte after each ``pause`` until there is a response. Returns the number of bytes."""
        self.socket.settimeout(pause)
        for sent in range(100):
            try:
                self.socket.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                self.say(b"x")
            else:
                self.socket.settimeout(SECONDS)
                return sent
        raise AssertionError

    def is_ended(self) -> bool:
        """Wait for the end of the connection. True if no data came before it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    @property
    def age(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun

    def close(self) -> None:
        """End it."""
        self.socket.close()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A running server, on uvloop unless the test says otherwise."""
    with closing(Server(getattr(request, "param", "uvloop"))) as made:
        yield made


on_each_loop = pytest.mark.parametrize("server", ["asyncio", "uvloop"], indirect=True)


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    """A client of it."""
    with closing(server.connect()) as made:
        yield made


def check_late(client: Client, part: str) -> None:
    """A 408 in the standard error shape that names the late part, and nothing after it."""
    answer = client.hear()
    error = json.loads(answer.body)["error"]
    assert f" {part} " in error.pop("message")
    assert error.pop("details")["help"].endswith("#REQUEST_TIMEOUT")
    assert (answer.status, error) == (408, {"code": "REQUEST_TIMEOUT", "status": 408})
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == 'attachment; filename="api.json"'
    assert client.is_ended()


@on_each_loop
def test_a_connection_that_sends_nothing_is_closed(server: Server, client: Client) -> None:
    assert client.is_ended()
    assert server.ended.wait(SECONDS)
    assert client.age >= SHORT.head


def test_a_connection_that_sends_empty_lines_is_closed(client: Client) -> None:
    client.say(b"\r\n")
    assert client.is_ended()


def test_a_head_that_trickles_is_408(client: Client) -> None:
    client.say(HEAD[:5])
    assert client.trickle(SHORT.head / 4)
    check_late(client, "head")


def test_the_head_of_a_later_request_is_bounded_too(client: Client) -> None:
    client.say(HEAD)
    assert client.hear().status == 200
    client.say(HEAD[:-1])
    check_late(client, "head")


def test_a_late_head_is_answered_after_the_request_before_it(
    server: Server, client: Client
) -> None:
    server.protocol.bounds = replace(SHORT, piece=NEVER, body=NEVER)
    client.say(POST % (b"echo", 2) + b"a")
    client.say(b"b" + HEAD[:9])
    assert client.hear().body == b"ab"
    check_late(client, "head")


def test_a_kept_connection_is_closed_when_idle(client: Client) -> None:
    client.say(HEAD)
    assert client.hear().status == 200
    assert client.is_ended()
    assert client.age >= IDLE_SECONDS


def test_an_idle_connection_keeps_nothing_of_its_last_request(
    server: Server, client: Client
) -> None:
    client.say(HEAD)
    assert client.hear().status == 200

    def is_released() -> bool:
        gc.collect()
        return not server.app.requests

    until(is_released, "the end of the request")
    assert client.age < IDLE_SECONDS


def test_empty_lines_do_not_extend_an_idle_connection(client: Client) -> None:
    client.say(HEAD)
    assert client.hear().status == 200
    client.say(b"\r\n")
    assert client.is_ended()
    assert client.age < IDLE_SECONDS


def test_a_body_that_stops_is_408_and_the_application_is_told(
    server: Server, client: Client
) -> None:
    client.say(POST % (b"echo", 10) + b"half")
    check_late(client, "body")
    assert server.app.left.wait(SECONDS)


def test_a_body_that_keeps_coming_is_read_and_one_that_never_ends_is_408(client: Client) -> None:
    client.say(POST % (b"echo", 1_000_000))
    pieces = client.trickle(SHORT.piece / 4)
    check_late(client, "body")
    assert client.age >= SHORT.body
    assert pieces > SHORT.body / SHORT.piece


def test_a_body_that_trickles_after_its_answer_ends_the_connection(client: Client) -> None:
    client.say(POST % (b"early", 10) + b"half")
    assert client.hear().body == b"early"
    client.say(b"more")
    assert client.is_ended()


def test_a_body_that_keeps_coming_after_its_answer_ends_the_connection(
    server: Server, client: Client
) -> None:
    server.protocol.bounds = replace(SHORT, body=NEVER)
    client.say(POST % (b"early", 1_000_000) + b"half")
    assert client.hear().body == b"early"
    pieces = client.trickle(SHORT.piece / 4)
    assert client.is_ended()
    assert pieces > 1


def test_a_request_in_progress_does_not_time_out(server: Server, client: Client) -> None:
    client.say(POST % (b"slow", 0))
    client.socket.settimeout(4 * SHORT.tick + SHORT.head + SHORT.piece)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    assert not server.app.left.is_set()


def test_a_body_that_waits_for_a_request_in_progress_does_not_time_out(
    server: Server, client: Client
) -> None:
    client.say(POST % (b"slow", 0) + POST % (b"echo", 10) + b"half")
    client.socket.settimeout(4 * SHORT.tick + SHORT.head + SHORT.piece)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    assert not server.app.left.is_set()


@on_each_loop
def test_a_client_that_does_not_read_is_cut_off(server: Server, client: Client) -> None:
    client.say(POST % (b"large", 0))
    assert server.app.left.wait(SECONDS)
    assert server.ended.wait(SECONDS)
    assert client.age >= SHORT.unread


@on_each_loop
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_a_client_that_does_not_read_the_end_is_cut_off(server: Server, version: bytes) -> None:
    with closing(server.connect(buffer=SMALL)) as client:
        client.say(b"GET /rest HTTP/%s\r\nHost: localhost\r\n\r\n" % version)
        assert server.app.left.wait(SECONDS)
        assert server.ended.wait(SECONDS)
        assert SHORT.unread <= client.age < IDLE_SECONDS


@pytest.mark.parametrize("path", [b"large", b"at-once"])
def test_a_client_that_reads_slowly_gets_all(server: Server, client: Client, path: bytes) -> None:
    server.protocol.bounds = replace(SHORT, unread=0.2)
    client.say(POST % (path, 0))
    left = LARGE
    while left > 0:
        piece = client.socket.recv(LARGE // 16)
        assert piece
        left -= len(piece)
        time.sleep(SHORT.tick)
    assert client.age > 2 * server.protocol.bounds.unread


@on_each_loop
def test_connections_are_limited_for_each_address(server: Server) -> None:
    server.protocol.bounds = Bounds(tick=SHORT.tick)
    server.protocol.address_limit = LimitedLoopback(MOST)
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(server.connect())) for _ in range(MOST)]
        for client in clients:
            client.say(HEAD)
            assert client.hear().status == 200
        with closing(server.connect()) as refused:
            assert refused.is_ended()
        with closing(server.connect(source="127.0.0.2")) as other:
            other.say(HEAD)
            assert other.hear().status == 200
        clients[0].say(HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert clients[0].hear().status == 200
        assert clients[0].is_ended()
        again = stack.enter_context(closing(server.connect()))
        again.say(HEAD)
        assert again.hear().status == 200


def test_connections_from_this_machine_are_not_limited(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(2 * MOST):
            client = stack.enter_context(closing(server.connect()))
            client.say(HEAD)
            assert client.hear().status == 200


@pytest.mark.parametrize("proxies", ["127.0.0.1, 10.0.0.5", ["127.0.0.0/8", "proxy.local"], "*"])
def test_connections_of_a_proxy_are_not_limited(proxies: list[str] | str) -> None:
    with closing(Server("uvloop", proxies)) as server, ExitStack() as stack:
        server.protocol.address_limit = LimitedLoopback(MOST)
        for _ in range(2 * MOST):
            client = stack.enter_context(closing(server.connect()))
            client.say(HEAD)
            assert client.hear().status == 200


@pytest.mark.parametrize(
    ("first", "second"),
    [("203.0.113.7", "203.0.113.7"), ("2001:db8::1", "2001:db8:0:0:ffff::2")],
)
def test_addresses_of_one_client_are_counted_together(first: str, second: str) -> None:
    limit = AddressLimit(1)
    counted = limit.enter(first)
    with pytest.raises(ConnectionRefusedError):
        limit.enter(second)
    limit.leave(counted)
    assert limit.enter(second)


@pytest.mark.parametrize("other", ["203.0.113.8", "2001:db8:0:1::1"])
def test_addresses_of_different_clients_are_counted_separately(other: str) -> None:
    limit = AddressLimit(1)
    assert limit.enter("203.0.113.7")
    assert limit.enter("2001:db8::1")
    assert limit.enter(other)


@pytest.mark.parametrize("address", ["127.0.0.9", "::1", ""])
def test_exempt_addresses_have_no_connection_limit(address: str) -> None:
    limit = AddressLimit(1)
    assert [limit.enter(address) for _ in range(3)] == [None] * 3


def test_a_refused_address_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    limit = AddressLimit(1)
    for _ in range(3):
        try:
            limit.enter("2001:db8::1")
        except ConnectionRefusedError:
            continue
    assert [(record.levelname, record.args) for record in caplog.records] == [
        ("WARNING", ("2001:db8::/64", 1))
    ]

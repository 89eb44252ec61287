"""Kept connections: which are used again, and what happens when the receiver has closed one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvloop

from tests.receiver import Receiver
from tests.webhooks.posting import BODY, make_client, post
from webhooks.client import Answer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# What the receiver does with a request: an answer, an answer that it CUTs, or one of the others.
CUT, CLOSE, RESET, HANG = b"cut ", b"close", b"reset", b"hang"


class Script:
    """Answers the requests of each connection in turn. Counts connections and requests."""

    def __init__(self, *connections: list[bytes]) -> None:
        self._connections = list(connections)
        self.requests: list[int] = []
        self.open = 0
        self.most_open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection. The last script repeats."""
        number = len(self.requests)
        self.requests.append(0)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            for step in self._connections[min(number, len(self._connections) - 1)]:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(len(BODY))
                self.requests[number] += 1
                if step == HANG:
                    await reader.read()
                if step == RESET:
                    writer.transport.abort()
                if step in {CLOSE, RESET, HANG}:
                    return
                writer.write(step.removeprefix(CUT))
                if step.startswith(CUT):
                    return
            await reader.read()
        except asyncio.IncompleteReadError:
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def _serving(script: Script, hosts: int = 1) -> AsyncIterator[list[str]]:
    servers = [
        await asyncio.start_server(script.serve, f"127.0.0.{number + 1}", 0)
        for number in range(hosts)
    ]
    try:
        yield ["http://{}:{}/".format(*server.sockets[0].getsockname()) for server in servers]
    finally:
        for server in servers:
            server.close()


def _post_twice(script: Script, **options: float) -> list[Answer]:
    async def run() -> list[Answer]:
        async with _serving(script) as [url], make_client(**options) as client:
            return [await client.post(url, BODY, {}) for _ in range(2)]

    return uvloop.run(run())


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_request_that_the_receiver_did_not_read_is_repeated_on_a_new_connection(
    end: bytes,
) -> None:
    script = Script([OK, end], [OK])
    assert [answer.success for answer in _post_twice(script)] == [True, True]
    assert script.requests == [2, 1]


def test_only_the_first_of_both_is_checked_for_being_wanted() -> None:
    """After the first byte a withdrawn request would be given back although it may have been read."""
    script, checks = Script([OK, CLOSE], [OK]), iter([True, True])

    async def may_start() -> bool:
        return next(checks, False)

    async def run() -> list[Answer]:
        async with _serving(script) as [url], make_client() as client:
            return [await client.post(url, BODY, {}, may_start) for _ in range(2)]

    assert [answer.success for answer in uvloop.run(run())] == [True, True]


def test_it_is_repeated_once() -> None:
    script = Script([OK, CLOSE], [CLOSE])
    first, second = _post_twice(script)
    assert (first.success, second.success) == (True, False)
    assert script.requests == [2, 1]


def test_a_new_connection_that_is_closed_is_a_failure() -> None:
    script = Script([CLOSE])
    assert [answer.success for answer in _post_twice(script)] == [False, False]
    assert script.requests == [1, 1]


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200", b"HTTP/1.1 102 Processing\r\n\r\n"])
def test_an_answer_that_has_begun_is_not_asked_for_again(begun: bytes) -> None:
    script = Script([OK, CUT + begun], [OK])
    first, second = _post_twice(script)
    assert (first.success, second.success) == (True, False)
    assert script.requests == [2]


def test_the_deadline_covers_both() -> None:
    script = Script([OK, CLOSE], [HANG])
    _, second = _post_twice(script, timeout=0.3)
    assert (second.timed_out, second.duration_ms < 1000) == (True, True)
    assert script.requests == [2, 1]


@pytest.mark.parametrize(
    ("announced", "connections"),
    [
        (b"timeout=60", 1),
        (b"timeout=5, max=100", 1),
        (b"max=3", 1),
        (b"timeout=x", 1),
        (b"timeout=1", 2),
        (b"timeout=0", 2),
        (b'Timeout="1"', 2),
        (b"timeout=60, max=0", 2),
    ],
)
def test_a_connection_is_kept_for_as_long_as_the_receiver_announces(
    announced: bytes, connections: int
) -> None:
    answer = OK.replace(b"\r\n\r\n", b"\r\nKeep-Alive: " + announced + b"\r\n\r\n")
    script = Script([answer] * 2)
    assert all(each.success for each in _post_twice(script))
    assert len(script.requests) == connections


def test_open_connections_are_bounded_over_all_receivers() -> None:
    script = Script([OK] * 9)

    async def run() -> list[Answer]:
        async with _serving(script, 20) as urls, make_client(most_open=5) as client:
            return [await client.post(url, BODY, {}) for url in urls * 2]

    assert all(answer.success for answer in uvloop.run(run()))
    # The receiver sees the end of the oldest one a little later.
    assert script.most_open <= 5 + 2
    assert len(script.requests) == 40


def test_a_connection_that_is_used_often_is_kept() -> None:
    script = Script([OK] * 99)

    async def run() -> None:
        async with _serving(script, 10) as [often, *urls], make_client(most_open=3) as client:
            for url in urls:
                await client.post(often, BODY, {})
                await client.post(url, BODY, {})

    uvloop.run(run())
    assert max(script.requests) == 9


def test_a_connection_that_was_never_made_takes_no_place(receiver: Receiver) -> None:
    """Otherwise the kept ones are closed too early, for ever."""
    other = Receiver()
    refused = ["http://127.0.0.1:1/"] * 3
    post(*refused, receiver.url(), other.url(), receiver.url(), most_open=2)
    other.close()
    assert len({request.peer for request in receiver.at()}) == 1

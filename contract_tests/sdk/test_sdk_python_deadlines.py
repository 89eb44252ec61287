"""A call of the Python SDK ends at its deadline, however slowly the server sends."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from contract_tests.sdk.drivers import Asyncio, Driver
from contract_tests.sdk.hostile_server import HostileServer, json_response
from messaging_gateway_client import AsyncClient, NoResponseError

SECONDS = 0.5
# For a loaded machine. A slow response takes longer.
SLACK, SLOW_SECONDS = 4.0, 10.0
# Where a byte more is no end of anything: within the head, and within the length of a chunk.
PLACES = [
    b"HTTP/1.1 200 OK\r\nX: ",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;",
]


def _byte_by_byte(server: HostileServer, start: bytes) -> Iterator[bytes]:
    """The start, then a byte 20 times a second, which is never the last."""
    end = time.monotonic() + SLOW_SECONDS
    yield start
    while time.monotonic() < end and not server.closing.wait(0.05):
        yield b"a"


@pytest.mark.parametrize("start", PLACES)
def test_bytes_without_end_do_not_extend_a_call_of_asyncio(
    server: HostileServer, start: bytes
) -> None:
    server.script = lambda _number: _byte_by_byte(server, start)
    began = time.monotonic()
    with pytest.raises(NoResponseError) as caught:
        Asyncio().call(server.url, "redeliver_delivery", "dlv_1", timeout=SECONDS)
    assert SECONDS <= time.monotonic() - began < SECONDS + SLACK
    assert caught.value.may_have_arrived
    assert len(server.seen) == 1


def test_bytes_without_end_do_not_extend_a_download_of_asyncio(server: HostileServer) -> None:
    server.script = lambda _number: _byte_by_byte(server, PLACES[1])
    began = time.monotonic()
    with pytest.raises(NoResponseError):
        Asyncio().call(server.url, "download_media", "msg_1", timeout=SECONDS)
    assert time.monotonic() - began < SECONDS + SLACK


def test_a_call_that_was_ended_holds_no_connection(server: HostileServer) -> None:
    good = json_response("200 OK", b'{"id":"num_1"}')
    slow = _byte_by_byte(server, PLACES[0])
    server.script = lambda number: slow if number == 1 else [good]

    async def calls() -> str:
        one = httpx.AsyncClient(limits=httpx.Limits(max_connections=1))
        async with AsyncClient(server.url, "mk_live_key", attempts=1, http=one) as client:
            with pytest.raises(NoResponseError):
                await client.get_number("num_1", timeout=SECONDS)
            return (await client.get_number("num_1", timeout=SLACK))["id"]

    assert asyncio.run(calls()) == "num_1"


def test_a_call_that_got_no_connection_certainly_did_nothing(driver: Driver) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        while True:
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0.2)
            try:
                waiting.connect(address)
            except TimeoutError:
                break
        url = f"http://127.0.0.1:{address[1]}/api"
        with pytest.raises(NoResponseError) as caught:
            driver.call(url, "redeliver_delivery", "dlv_1", timeout=SECONDS)
    assert not caught.value.may_have_arrived

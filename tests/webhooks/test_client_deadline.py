"""One deadline for the whole exchange."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable

import pytest
import uvloop

from tests.receiver import Exchange, Receiver, answer, hang
from tests.webhooks.listener import Listener
from tests.webhooks.name_server import NameServer
from tests.webhooks.posting import BODY, make_client, no_response, post, post_one
from webhooks.address import UNRESOLVED
from webhooks.client import BODY_SECONDS, Answer

TIMEOUT = 0.5


def _assert_cut_off(answered: Answer) -> None:
    assert answered.timed_out
    assert f" {TIMEOUT} s" in str(answered.error)
    assert (answered.success, answered.status_code, answered.body) == (False, None, None)
    # uvloop counts whole milliseconds.
    assert 499 <= answered.duration_ms < 1500


def _trickle(head: bytes, drop: bytes) -> Callable[[Exchange], None]:
    """Every byte arrives in time, but the whole response never does."""

    def behave(exchange: Exchange) -> None:
        exchange.wfile.write(head)
        while not exchange.server.receiver.released.wait(0.1):
            exchange.wfile.write(drop)

    return behave


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"HTTP/1.1 200 ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ],
    ids=["status line", "header", "headers", "interim answers"],
)
def test_a_receiver_that_trickles_is_cut_off(receiver: Receiver, head: bytes, drop: bytes) -> None:
    receiver.behave(_trickle(head, drop))
    _assert_cut_off(post_one(receiver.url(), timeout=TIMEOUT))


@pytest.mark.parametrize("seconds", [0.2, 60])
@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: 1\r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    ],
    ids=["body", "chunks", "chunk extension", "trailers", "body without length"],
)
def test_the_status_counts_while_the_body_trickles(
    receiver: Receiver, head: bytes, drop: bytes, seconds: float
) -> None:
    """The body is only for people, so nobody waits for it for long."""
    receiver.behave(_trickle(head, drop))
    answered = post_one(receiver.url(), timeout=seconds)
    assert (answered.success, answered.status_code, answered.timed_out) == (True, 200, False)
    assert answered.duration_ms < 1000 * (min(seconds, BODY_SECONDS) + 0.75)


def test_the_body_does_not_extend_the_deadline(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.client.BODY_SECONDS", 10)
    receiver.behave(_trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"x"))
    answered = post_one(receiver.url(), timeout=TIMEOUT)
    assert (answered.success, answered.duration_ms < 5000) == (True, True)


def test_a_receiver_that_takes_the_request_and_never_answers_is_cut_off(receiver: Receiver) -> None:
    receiver.behave(hang)
    _assert_cut_off(post_one(receiver.url(), timeout=TIMEOUT))
    assert len(receiver.at()) == 1


def test_a_connection_that_nobody_serves_is_cut_off(listener: Listener) -> None:
    _assert_cut_off(post_one(f"http://127.0.0.1:{listener.port}/hook", timeout=TIMEOUT))
    assert listener.was_called()


def test_a_connection_that_is_never_made_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [_start_connecting(address) for _ in range(4)]
        answered = post_one(f"http://127.0.0.1:{address[1]}/hook", timeout=TIMEOUT)
        for each in waiting:
            each.close()
    _assert_cut_off(answered)


def _start_connecting(address: tuple[str, int]) -> socket.socket:
    """Start to connect without waiting."""
    caller = socket.socket()
    caller.settimeout(0)
    caller.connect_ex(address)
    return caller


def test_a_name_server_that_never_answers_is_cut_off(name_server: NameServer) -> None:
    name_server.mute("hook.example")
    nameservers = [name_server.address]
    url = "http://hook.example/"
    _assert_cut_off(post_one(url, timeout=TIMEOUT, nameservers=nameservers))
    assert ("hook.example", "A") in name_server.asked


def test_the_time_of_the_look_up_counts(receiver: Receiver, name_server: NameServer) -> None:
    """One deadline covers all steps: the second look-up uses a part of it."""
    receiver.behave(hang)
    name_server.know("hook.example", ["127.0.0.1"])
    url = f"http://hook.example:{receiver.port}/hook"
    _assert_cut_off(post_one(url, timeout=TIMEOUT, nameservers=[name_server.address]))
    assert {name for name, _ in name_server.asked} == {"hook.example"}, "nothing else was asked"


def test_only_a_look_up_that_hangs_leads_to_a_check_of_the_name_servers(
    receiver: Receiver, name_server: NameServer
) -> None:
    async def run() -> list[Answer]:
        nameservers = [name_server.address]
        async with make_client(timeout=TIMEOUT, nameservers=nameservers) as client:
            kept = await client.post(receiver.url(), BODY, {})
            receiver.behave(hang)
            # On the kept connection, and on a new one.
            return [kept, *[await client.post(receiver.url(), BODY, {}) for _ in range(2)]]

    assert [each.timed_out for each in uvloop.run(run())] == [False, True, True]
    assert name_server.asked == []


def test_a_failure_within_the_time_was_not_cut_off(receiver: Receiver) -> None:
    receiver.behave(answer(500))
    assert [each.timed_out for each in post(receiver.url(), "http://127.0.0.1:1/")] == [False] * 2


def test_names_that_hang_hold_up_no_other_and_take_no_threads(
    receiver: Receiver, name_server: NameServer
) -> None:
    slow = [f"slow-{i}.example" for i in range(100)]
    fast = [f"fast-{i}.example" for i in range(20)]
    for name in slow:
        name_server.mute(name)
    for name in fast:
        name_server.know(name, ["127.0.0.1"])

    async def run() -> tuple[list[Answer], bool, int, list[Answer]]:
        before = threading.active_count()
        async with make_client(timeout=2, nameservers=[name_server.address]) as client:
            hanging = [
                asyncio.create_task(client.post(f"http://{name}:{receiver.port}/hook", BODY, {}))
                for name in slow
            ]
            await asyncio.to_thread(name_server.wait, len(slow))
            answered = [
                await client.post(f"http://{name}:{receiver.port}/hook", BODY, {}) for name in fast
            ]
            idle = not any(task.done() for task in hanging)
            threads = threading.active_count() - before
            return answered, idle, threads, await asyncio.gather(*hanging)

    started = time.monotonic()
    answered, idle, threads, cut_off = uvloop.run(run())
    assert all(each.success for each in answered)
    assert idle, "the healthy ones were done while the others still hung"
    assert threads <= len(fast) + 3, "the receiver's own, one for each connection"
    assert all(each.timed_out for each in cut_off)
    assert time.monotonic() - started < 5


def test_closing_gives_up_what_is_under_way(name_server: NameServer) -> None:
    name_server.mute("hook.example")

    async def run() -> Answer:
        client = make_client(timeout=30, nameservers=[name_server.address])
        async with client:
            task = asyncio.create_task(client.post("http://hook.example/", BODY, {}))
            await asyncio.to_thread(name_server.wait, 1)
        return await task

    started = time.monotonic()
    assert uvloop.run(run()).error == no_response(UNRESOLVED.format("hook.example"))
    assert time.monotonic() - started < 5

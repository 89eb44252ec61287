"""The Python SDK against a hostile server: it ends in time, with success or a typed error, and sends once.

SDK_FUZZ sets the number of seeds.
"""

import gzip
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count

import pytest

from contract_tests.sdk.drivers import Driver
from contract_tests.sdk.hostile_server import HostileServer, json_response, refusal, response
from contract_tests.sdk.streams import STREAM, block
from messaging_gateway_client import GatewayError, events

SEEDS = range(int(os.environ.get("SDK_FUZZ", "8")))
SECONDS = 1.0
# For a loaded machine. Without its deadline, a call would last for tens of seconds.
SLACK = 4.0
MESSAGE = {"number_id": "num_1", "to": "15551234567", "type": "text", "text": {"body": "Hello"}}
CALLS: dict[str, tuple[object, ...]] = {
    "send_message": (MESSAGE,),
    "get_number": ("num_1",),
    "redeliver_delivery": ("dlv_1",),
    "list_messages": (),
    "download_media": ("msg_1",),
}
GOOD = json_response("200 OK", b'{"id":"x_1","status":"sent","data":[],"pagination":{}}')
# The gateway did nothing. After every other answer, it may have.
UNTOUCHED = {"throttled", "unavailable", "throttled for long"}
Fault = Callable[[random.Random, HostileServer], Iterable[bytes]]


def _cut(rng: random.Random, _: HostileServer) -> Iterable[bytes]:
    """In the status line, the headers, between both, in the body, or before the last byte."""
    body = GOOD.index(b"\r\n\r\n")
    places = [0, rng.randrange(1, 15), rng.randrange(17, body), body + 2, body + 4, len(GOOD) - 1]
    yield GOOD[: rng.choice(places)]


def _stalled(rng: random.Random, server: HostileServer) -> Iterator[bytes]:
    yield GOOD[: rng.choice([0, 9, 40, len(GOOD) - 3])]
    server.closing.wait(20)


def _dripping(_: random.Random, server: HostileServer) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    while not server.closing.wait(0.05):
        yield b" "


def _damaged(rng: random.Random, _: HostileServer) -> Iterable[bytes]:
    damaged = bytearray(GOOD)
    for _time in range(3):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    yield bytes(damaged)


def _foreign(rng: random.Random, _: HostileServer) -> Iterable[bytes]:
    body = rng.choice(
        [b"<html>", b"", b"[]", b"null", b"\xff", b"[" * 5000, b'{"data":1}', b"1e999"]
    )
    status = rng.choice(["200 OK", "302 Found", "404 Not Found", "502 Bad Gateway", "503 No"])
    yield response(
        status, body, Content_Type="text/html", Retry_After=rng.choice(["0", "-1", "soon"])
    )


def _encoded(rng: random.Random, _: HostileServer) -> Iterable[bytes]:
    packed = bytearray(gzip.compress(b'{"id":"x_1"}'))
    packed[rng.randrange(len(packed))] ^= 255
    yield json_response("200 OK", bytes(packed), Content_Encoding="gzip")


def _chunked(rng: random.Random, _: HostileServer) -> Iterable[bytes]:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield head + rng.choice([b"5\r\n{}", b"zz\r\n", b"2\r\n{}\r\n", b"ffffffffffffffff\r\n{"])


FAULTS: dict[str, Fault] = {
    "cut": _cut,
    "stalled": _stalled,
    "dripping": _dripping,
    "damaged": _damaged,
    "foreign": _foreign,
    "encoded": _encoded,
    "chunked": _chunked,
    "failed": lambda *_: [refusal("500 Failed", "INTERNAL_ERROR")],
    "throttled": lambda *_: [refusal("429 Many", "RATE_LIMITED", Retry_After="0")],
    "unavailable": lambda *_: [refusal("503 Gone", "SERVICE_UNAVAILABLE", Retry_After="0")],
    "throttled for long": lambda *_: [refusal("429 Many", "RATE_LIMITED", Retry_After="9" * 30)],
    "good": lambda *_: [GOOD],
}


@pytest.mark.parametrize("operation", CALLS)
def test_a_call_ends_in_time_and_has_one_effect(
    driver: Driver, server: HostileServer, operation: str
) -> None:
    for seed in SEEDS:
        rng = random.Random(f"{operation} {seed}")  # noqa: S311 - no secret
        faults = [rng.choice(list(FAULTS)) for _ in range(3)]
        server.seen.clear()
        server.script = lambda number, faults=faults, rng=rng: FAULTS[  # type: ignore[misc]
            faults[min(number, 3) - 1]
        ](rng, server)
        began = time.monotonic()
        with suppress(GatewayError):
            driver.call(server.url, operation, *CALLS[operation], timeout=SECONDS)
        assert time.monotonic() - began < SECONDS + SLACK, faults
        played = [faults[min(number, 3) - 1] for number in range(1, len(server.seen) + 1)]
        if operation == "redeliver_delivery":
            assert all(fault in UNTOUCHED for fault in played[:-1]), played
        keys = {seen.headers.get("idempotency-key") for seen in server.seen}
        assert len(keys) == 1, played


EVENTS = 30


def _stream(rng: random.Random, server: HostileServer) -> Iterator[bytes]:
    """The events after the cursor in random pieces, until something goes wrong."""
    last = server.seen[-1].headers.get("last-event-id", "c000")
    rest = [block(number) for number in range(int(last[1:]) + 1, EVENTS + 1)]
    whole = rng.randrange(len(rest) + 1)
    bad = [b"data: {\n\n", b"data: []\n\n", b"id: \xff\0\n\n", b":\xff\n", b"da"]
    cut = b"".join(rest[whole:])[: rng.randrange(200)]
    body = STREAM + b"".join(rest[:whole]) + rng.choice([cut, *bad])
    while body:
        size = rng.randrange(1, 400)
        yield body[:size]
        body = body[size:]


def _refused(rng: random.Random, server: HostileServer) -> Iterable[bytes]:
    fault = rng.choice(["cut", "foreign", "failed", "throttled", "unavailable", "chunked", "good"])
    return FAULTS[fault](rng, server)


def test_a_follower_gets_each_event_once_through_broken_streams(
    driver: Driver, server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "FIRST_PAUSE", 0.001)
    for seed in SEEDS:
        rng = random.Random(seed)  # noqa: S311 - no secret
        server.seen.clear()
        server.script = lambda _number, rng=rng: rng.choice([_stream, _stream, _refused])(
            rng, server
        )  # type: ignore[misc]
        stored: list[str] = []
        found = driver.take(server.url, "follow", EVENTS, stored.append, after="c000")
        expected = [f"{number:03}" for number in range(1, EVENTS + 1)]
        assert [event["id"] for event in found] == [f"evt_{each}" for each in expected]
        # The last one is not processed yet.
        assert stored == [f"c{each}" for each in expected[:-1]]


def test_a_refused_cursor_is_read_again_without_known_events(
    driver: Driver, server: HostileServer
) -> None:
    answers = [
        STREAM + block(1) + block(2),
        json_response(
            "409 Conflict",
            b'{"error":{"code":"CONFLICT","message":"Text.","status":409,"details":{"since":"2026-11-20T09:21:00.000Z"}}}',
        ),
        STREAM + block(1) + block(2) + block(3),
    ]
    server.play(*answers)
    found = driver.take(server.url, "follow", 3, after="c000")
    assert [event["id"] for event in found] == ["evt_001", "evt_002", "evt_003"]
    assert "since=2026-11-20T09%3A21%3A00.000Z" in server.seen[2].target
    assert "last-event-id" not in server.seen[2].headers


@pytest.mark.parametrize(
    "answer",
    [
        refusal("401 Unauthorized", "UNAUTHORIZED"),
        refusal("400 Bad Request", "VALIDATION_ERROR"),
        refusal("409 Conflict", "CONFLICT"),
    ],
)
def test_a_follower_that_is_refused_raises(
    driver: Driver, server: HostileServer, answer: bytes
) -> None:
    server.play(answer)
    with pytest.raises(GatewayError) as caught:
        driver.take(server.url, "follow", 1)
    assert len(server.seen) == 1
    assert caught.value.status in {400, 401, 409}


def test_a_follower_without_patience_raises_what_is_wrong(
    driver: Driver, server: HostileServer
) -> None:
    server.play(response("200 OK", b"<html>", Content_Type="text/html"))
    numbers = count()
    with pytest.raises(GatewayError) as caught:
        driver.take(server.url, "follow", 1, lambda _cursor: next(numbers), patience=0.3)
    assert caught.value.code == "NO_RESPONSE"
    assert len(server.seen) > 1

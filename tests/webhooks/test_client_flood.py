"""The client closes the connection of a receiver that floods it, so that the event loop stays free."""

import gzip
import zlib
from collections.abc import Callable

import pytest

from tests.receiver import Exchange, Receiver, answer
from tests.webhooks.posting import no_response, post, post_one
from webhooks.client import Answer
from webhooks.connections import MAX_RECEIVED
from webhooks.reasons import NOT_HTTP

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
# Bytes in the kernel's buffers were written and never read.
BUFFERS = 32 * 1024 * 1024


def _pour(head: bytes, drop: bytes, written: list[int]) -> Callable[[Exchange], None]:
    lot = drop * (64 * 1024 // len(drop) + 1)

    def behave(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.wfile.write(head)
        try:
            while not exchange.server.receiver.released.is_set():
                exchange.wfile.write(lot)
                written[0] += len(lot)
        except OSError:
            exchange.server.receiver.released.set()

    return behave


def _answer_to_flood(receiver: Receiver, head: bytes, drop: bytes) -> Answer:
    """The result of a POST to a receiver that sends ``drop`` without end. It must not be read for long."""
    written = [0]
    receiver.behave(_pour(head, drop, written))
    answered = post_one(receiver.url(), timeout=60)
    assert receiver.released.wait(5), "the client is still there"
    assert written[0] < BUFFERS
    return answered


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"", b"\r\n"),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        (b"HTTP/1.1 200 ", b"x"),
        (OK, b"X-More: 1\r\n"),
        (OK + b"X-More: ", b"1"),
        (b"", b"\x00\xff"),
    ],
    ids=[
        *("blank lines", "interim answers", "interim answers with headers", "status line"),
        *("headers", "header", "noise"),
    ],
)
def test_endless_invalid_bytes_are_not_read_until_the_deadline(
    receiver: Receiver, head: bytes, drop: bytes
) -> None:
    answered = _answer_to_flood(receiver, head, drop)
    reason = "the connection was lost." if head or drop.startswith(b"HTTP") else NOT_HTTP
    assert (answered.error, answered.timed_out) == (no_response(reason), False)


@pytest.mark.parametrize(
    ("head", "drop"), [(OK + b"\r\n", b"a"), (CHUNKED, b"1\r\na\r\n")], ids=["body", "chunks"]
)
def test_an_endless_body_of_a_2xx_is_a_success_whose_beginning_is_kept(
    receiver: Receiver, head: bytes, drop: bytes
) -> None:
    answered = _answer_to_flood(receiver, head, drop)
    assert (answered.success, answered.body) == (True, "a" * 1024)


@pytest.mark.parametrize(
    ("head", "drop"),
    [(CHUNKED + b"1;", b"x"), (CHUNKED + b"0\r\n", b"X-Trailer: 1\r\n")],
    ids=["chunk extension", "trailers"],
)
def test_endless_bytes_around_the_body_of_a_2xx_are_not_read_until_the_deadline(
    receiver: Receiver, head: bytes, drop: bytes
) -> None:
    answered = _answer_to_flood(receiver, head, drop)
    assert (answered.error, answered.timed_out) == (None, False)


def test_a_compressed_response_without_content_is_not_read_to_its_end(receiver: Receiver) -> None:
    nothing = zlib.compressobj().flush(zlib.Z_FULL_FLUSH)
    written = [0]
    receiver.behave(_pour(OK + b"Content-Encoding: deflate\r\n\r\n", nothing, written))
    assert post_one(receiver.url(), timeout=60).success
    assert written[0] < BUFFERS


def test_a_few_interim_answers_are_no_flood(receiver: Receiver) -> None:
    def hint_first(exchange: Exchange) -> None:
        for _ in range(20):
            exchange.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        exchange.reply(200, b"done")

    receiver.behave(hint_first)
    assert post_one(receiver.url()).body == "done"


def test_the_limit_of_bytes_applies_to_each_response_of_a_kept_connection(
    receiver: Receiver,
) -> None:
    receiver.behave(answer(200, b"a" * 16 * 1024))
    count = MAX_RECEIVED // (16 * 1024) + 2
    assert all(each.success for each in post(*[receiver.url()] * count))
    assert len({request.peer for request in receiver.at()}) == 1


def test_a_large_packed_answer_is_a_success(receiver: Receiver) -> None:
    noise = gzip.compress(b"\x00\xff\x80" * 5_000_000, 0)
    receiver.behave(answer(200, noise, Content_Encoding="gzip"))
    assert post_one(receiver.url()).success

"""Kept-alive connections with unsolicited bytes, and requests withdrawn before they are sent."""

import asyncio

import pytest
import uvloop

from tests.receiver import Exchange, Receiver, hang
from tests.webhooks.posting import BODY, HEADERS, make_client
from webhooks.client import Answer, WithdrawnError

UNASKED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def _post_twice(url: str) -> list[Answer]:
    async with make_client() as client:
        first = await client.post(url, BODY, HEADERS)
        # The unsolicited bytes arrive in the meantime.
        await asyncio.sleep(0.05)
        return [first, await client.post(url, BODY, HEADERS)]


@pytest.mark.parametrize("pieces", [(OK, UNASKED), (OK + UNASKED,)], ids=["later", "at once"])
def test_an_unrequested_response_is_not_used_for_the_next_request(
    receiver: Receiver, pieces: tuple[bytes, ...]
) -> None:
    def answer_twice(exchange: Exchange) -> None:
        if len(receiver.at()) > 1:
            exchange.reply(500)
            return
        for piece in pieces:
            exchange.wfile.write(piece)

    receiver.behave(answer_twice)
    first, second = uvloop.run(_post_twice(receiver.url()))
    assert (first.status_code, second.status_code) == (200, 500)
    assert len({request.peer for request in receiver.at()}) == 2, "the connection was used again"


def test_a_request_that_is_withdrawn_is_not_sent(receiver: Receiver) -> None:
    answers = iter([True, False, True])

    async def may_start() -> bool:
        return next(answers)

    async def post_three() -> None:
        async with make_client() as client:
            await client.post(receiver.url(), BODY, HEADERS, may_start)
            with pytest.raises(WithdrawnError):
                await client.post(receiver.url(), BODY, HEADERS, may_start)
            await client.post(receiver.url(), BODY, HEADERS, may_start)

    uvloop.run(post_three())
    assert len(receiver.at()) == 2


def test_the_check_before_the_first_byte_does_not_count_against_the_receiver(
    receiver: Receiver,
) -> None:
    async def wait_for_the_database() -> bool:
        await asyncio.sleep(0.6)
        return True

    async def run() -> tuple[Answer, Answer]:
        async with make_client(timeout=0.5) as client:
            quick = await client.post(receiver.url(), BODY, HEADERS, wait_for_the_database)
            receiver.behave(hang)
            return quick, await client.post(receiver.url(), BODY, HEADERS, wait_for_the_database)

    quick, hung = uvloop.run(run())
    assert (quick.success, quick.duration_ms < 500) == (True, True)
    assert (hung.timed_out, 499 <= hung.duration_ms < 1000) == (True, True)

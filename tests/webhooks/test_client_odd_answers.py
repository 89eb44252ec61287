"""The status decides, as for curl and Go, even if the rest of an answer is wrong."""

import asyncio
import random
from dataclasses import replace

import pytest
import uvloop

from tests.webhooks.odd_answers import ODD_ANSWERS, Odd
from tests.webhooks.odd_receiver import odd_receiver
from tests.webhooks.posting import BODY, make_client
from webhooks.client import Answer
from webhooks.response import NotHttpError, Response

TIMES = 3


async def _ask(odds: list[Odd]) -> list[Answer]:
    """The results of deliveries to all of them at once."""
    async with odd_receiver(odds) as url_of, make_client(timeout=5) as client:
        return await asyncio.gather(*(client.post(url_of(odd), BODY, {}) for odd in odds))


def _refusing(odd: Odd) -> Odd:
    """The same answer with 503 instead of 200."""
    status = 503 if odd.status == 200 else odd.status
    return replace(odd, raw=odd.raw.replace(b"200", b"503"), status=status)


@pytest.mark.parametrize("refuses", [False, True], ids=["200", "503"])
def test_the_status_of_an_odd_answer_counts(*, refuses: bool) -> None:
    odds = [_refusing(odd) if refuses else odd for odd in ODD_ANSWERS]
    results = dict(zip([odd.name for odd in odds], uvloop.run(_ask(odds)), strict=True))
    assert {name: answer.status_code for name, answer in results.items()} == {
        odd.name: odd.status for odd in odds
    }
    for answer in results.values():
        assert answer.success is (answer.status_code in range(200, 300))
        assert not answer.timed_out


def _status_in_pieces(odd: Odd, cuts: list[int]) -> int | None:
    response = Response()
    try:
        for start, end in zip([0, *cuts], [*cuts, len(odd.raw)], strict=True):
            if not response.is_complete:
                response.feed(odd.raw[start:end])
    except NotHttpError:
        return None
    response.end()
    return response.status


@pytest.mark.parametrize("odd", ODD_ANSWERS, ids=lambda odd: odd.name)
def test_pieces_of_an_odd_answer_have_the_same_status(odd: Odd) -> None:
    dice, size = random.Random(odd.name), len(odd.raw)  # noqa: S311 - no secret
    assert _status_in_pieces(odd, list(range(1, min(size, 2000)))) == odd.status
    for _ in range(TIMES):
        cuts = sorted(dice.sample(range(size), min(size, 3)))
        assert _status_in_pieces(odd, cuts) == odd.status

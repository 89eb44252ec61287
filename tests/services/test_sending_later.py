"""Sending: how an outcome that could not be recorded is tried again, and who is woken by a send."""

import asyncio
from collections.abc import Callable

import pytest

from models import doorbells
from models.accounts.account import Account
from models.database import UnsureError, outage
from models.errors import DomainError
from models.numbers.number import Number
from services import sending
from services.repeating import Answer
from tests import factories
from tests.fake_network import accept_all

UNAVAILABLE = outage.UNAVAILABLE[0]


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for each time that the delivery engine was woken."""
    rings: list[None] = []
    monkeypatch.setattr(doorbells.deliveries, "ring", lambda: rings.append(None))
    return rings


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between the tries, which take no time here."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("services.sending.asyncio.sleep", sleep)
    return pauses


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    accept_all(monkeypatch)


def _fail_with(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[Callable[[], Answer]]:
    """Let the commits of outcomes fail with these errors, then succeed. Returns what was tried."""
    tried: list[Callable[[], Answer]] = []
    left = iter(errors)

    async def commit(record: Callable[[], Answer], *_keys: str) -> Answer:
        if getattr(record, "func", None) is sending._begin:
            return record()
        tried.append(record)
        if (error := next(left, None)) is not None:
            raise error
        return record()

    monkeypatch.setattr(sending, "commit", commit)
    return tried


async def _send(number: Number) -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    return await sending.send(number.account_id, body, "key-1")


def test_the_pauses_double_up_to_the_longest(
    pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 1)
    monkeypatch.setattr(sending, "MOST_PAUSE_SECONDS", 5)
    tried = _fail_with(monkeypatch, *[UNAVAILABLE("away")] * 4)
    asyncio.run(sending.record_later("msg_1", lambda: Answer(200, "{}")))
    assert pauses == [1, 2, 4, 5, 5]
    assert len(tried) == 5


def test_an_error_that_no_wait_can_heal_ends_the_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = _fail_with(monkeypatch, ValueError())
    asyncio.run(sending.record_later("msg_1", lambda: Answer(200, "{}")))
    assert len(tried) == 1


@pytest.mark.parametrize(("is_silent", "at_once"), [(True, 1), (False, 2)])
def test_only_a_server_that_answers_is_asked_again_at_once(
    monkeypatch: pytest.MonkeyPatch, *, is_silent: bool, at_once: int
) -> None:
    error = UnsureError("lost", is_silent=is_silent)
    tried = _fail_with(monkeypatch, error, error)
    with pytest.raises(UnsureError):
        asyncio.run(sending.record_at_once(lambda: Answer(200, "{}")))
    assert len(tried) == at_once


def test_the_engine_is_woken_once_an_outcome_is_recorded_later(
    number: Number, rings: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.webhook(Account.get_by_id(number.account_id))

    async def send() -> None:
        tried = _fail_with(monkeypatch, UNAVAILABLE("away"), UNAVAILABLE("away"))
        with pytest.raises(DomainError):
            await _send(number)
        await sending.finish(5)
        assert len(tried) == 3

    asyncio.run(send())
    assert len(rings) == 1

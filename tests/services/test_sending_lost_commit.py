"""PostgreSQL: the response to the commit that begins a send is lost. The database tells what happened."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from peewee import OperationalError

from contract_tests import backends
from contract_tests.chaos.thief import Thief
from models import database
from models.accounts import secret
from models.accounts.account import Account
from models.clock import new_id
from models.errors import ConflictError, DomainError
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from networks.interface import OutboundMessage
from services import sending
from tasks import queue
from tests import factories
from tests.conftest import AtOnce, Configure
from tests.fake_network import accept_all


@pytest.fixture(scope="session")
def url() -> str:
    """An empty database on a real server."""
    return backends.postgres().database("lost_commits")


@pytest.fixture
def thief(url: str, configure: Configure) -> Iterator[Thief]:
    """Between the models and their database."""
    thief = Thief(backends.postgres().port)
    connected = thief.in_front_of(url)
    secret.use_keys(*configure(DATABASE_URL=connected).encryption_keys())
    database.connect(connected)
    database.migrate()
    yield thief
    database.database.obj.close_all()
    thief.cut()


@pytest.fixture
def number(thief: Thief) -> Number:
    assert thief.port
    return factories.active_number(Account.open("Acme", "pro"), new_id("pn"))


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[OutboundMessage]:
    """The messages that the network gets. It accepts them."""
    monkeypatch.setattr(queue.deliveries, "thread", AtOnce())
    monkeypatch.setattr(sending, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 0.01)
    return accept_all(monkeypatch)


def _body(number: Number) -> dict[str, object]:
    text = {"type": "text", "text": {"body": "Hello"}}
    return {"number_id": number.id, "to": "15551234567", **text}


def _steal(thief: Thief) -> None:
    """Steal the response to the next commit. On a new connection the thief sees its text."""
    database.database.obj.close_idle()
    thief.steal_next()


@pytest.mark.parametrize("key", ["key-1", None])
def test_a_send_continues_when_its_first_commit_had_succeeded(
    number: Number, thief: Thief, asked: list[OutboundMessage], key: str | None
) -> None:
    _steal(thief)
    response = asyncio.run(sending.send(number.account_id, _body(number), key))
    assert (response.status, thief.stolen) == (200, 1)
    assert len(asked) == 1
    message = Message.get_by_id(json.loads(response.body)["id"])
    assert message.status == MessageStatus.SENT


def test_the_look_at_a_lost_commit_waits_for_no_lock_of_others(
    number: Number, thief: Thief, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys_of_looks, commit = list[tuple[str, ...]](), database.commit

    async def note(work: partial[Any], *keys: str) -> Any:
        if work.func is sending._is_stored:
            keys_of_looks.append(keys)
        return await commit(work, *keys)

    monkeypatch.setattr(sending, "commit", note)
    _steal(thief)
    assert asyncio.run(sending.send(number.account_id, _body(number), "key-1")).status == 200
    assert keys_of_looks == [()]


def test_an_outcome_whose_commit_is_lost_is_recorded_again_at_once(
    number: Number, thief: Thief, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = accept_all(monkeypatch, before=lambda: _steal(thief))
    response = asyncio.run(sending.send(number.account_id, _body(number), "key-4"))
    assert (response.status, thief.stolen, len(asked)) == (200, 1, 1)
    assert Message.get_by_id(asked[0].reference).status == MessageStatus.SENT


def test_a_send_begins_again_when_its_first_commit_had_failed(
    number: Number, asked: list[OutboundMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, runs = sending._begin, iter([True, False])

    def begin_or_fail(*given: object) -> object:
        with database.writing():
            made = begin(*given)  # type: ignore[arg-type]
            if next(runs):
                raise OperationalError("lost")
        return made

    monkeypatch.setattr(sending, "_begin", begin_or_fail)
    response = asyncio.run(sending.send(number.account_id, _body(number), "key-2"))
    assert response.status == 200
    assert len(asked) == 1


def test_when_the_database_stays_away_nothing_was_sent_and_the_key_is_released(
    number: Number, thief: Thief, asked: list[OutboundMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_stored, is_away = sending._is_stored, True

    def ask(lock: str, send: object) -> bool:
        if is_away:
            raise OperationalError("away")
        return is_stored(lock, send)  # type: ignore[arg-type]

    async def tell() -> None:
        nonlocal is_away
        _steal(thief)
        with pytest.raises(DomainError, match="Nothing was sent") as caught:
            await sending.send(number.account_id, _body(number), "key-3")
        assert not isinstance(caught.value, ConflictError)
        assert caught.value.retry_after is not None
        await sending.finish(20)
        is_away = False
        assert (asked, thief.stolen) == ([], 1)
        [message] = Message.select().where(Message.number == number.id)
        assert (message.status, message.error_code) == (MessageStatus.FAILED, "not_sent")
        assert message.error_message
        assert IdempotencyKey.find(number.account_id, "key-3") is None
        response = await sending.send(number.account_id, _body(number), "key-3")
        assert response.status == 200

    monkeypatch.setattr(sending, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(sending, "_is_stored", ask)
    with database.reading():
        asyncio.run(tell())
    assert len(asked) == 1

"""The limit of what an account stores in a day."""

import asyncio
import json
from typing import Any

import pytest

from models import clock as models_clock
from models.clock import DAY_MS
from models.database import reading, writing
from models.errors import RateLimitedError
from models.messages.message import Message
from models.numbers.number import Number
from models.reports.usage import UsageTotal, day_of
from services import sending, storage
from services.repeating import Answer
from tests.conftest import Clock, Configure
from tests.fake_network import accept_all
from tests.tasks.callbacks import ingest_now, messages, text

MIB = storage.MIB


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch, configure: Configure) -> None:
    configure(STORAGE_LIMITS="starter=1,pro=1")
    accept_all(monkeypatch)


def _send(number: Number, key: str | None = None, text: str = "Hi") -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": text}}
    return asyncio.run(sending.send(number.account_id, body, key))


def _stored(number: Number) -> int:
    with reading():
        return storage.read(storage.look_up(number.account_id)).size


def _fill(number: Number, size: int) -> None:
    """As many bytes are stored today, and more on another day and by another account."""
    key: dict[str, Any] = {
        "number_id": number.id,
        "direction": "INBOUND",
        "category": "",
        "billable": False,
    }
    today: dict[str, Any] = {"account_id": number.account_id, "day": day_of(models_clock.now())}
    with writing():
        UsageTotal.delete().execute()
        UsageTotal.create(**key, **today, total=1, size=size)
        for others in ({"day": "2026-11-19"}, {"account_id": "acc_other"}):
            UsageTotal.create(**key, **(today | others), total=1, size=2 * MIB)


def test_the_contents_of_both_directions_count(number: Number, clock: Clock) -> None:
    assert clock.at
    assert _stored(number) == 0
    _send(number)
    _send(number, text="\N{GRINNING FACE}")
    ingest_now(messages(messages=[text()]))
    bodies = [row.body_json for row in Message.select()]
    assert len(bodies) == 3
    assert _stored(number) == sum(len(body.encode()) for body in bodies)
    ingest_now(messages(messages=[text()]))
    assert _stored(number) == sum(len(body.encode()) for body in bodies), "it is stored once"


def test_above_the_limit_sends_wait_for_the_next_day_and_what_comes_is_stored(
    number: Number, clock: Clock
) -> None:
    sent = _send(number, "key-1")
    _fill(number, MIB - 1)
    assert _send(number).status == 200
    _fill(number, MIB)
    before = Message.select().count()
    with pytest.raises(RateLimitedError) as refused:
        _send(number, "key-2")
    assert refused.value.retry_after == (DAY_MS - clock.at % DAY_MS) // 1000
    assert Message.select().count() == before
    assert _send(number, "key-1") == Answer(200, sent.body, is_replayed=True)
    ingest_now(messages(messages=[text()]))
    assert Message.select().count() == before + 1
    clock.advance(milliseconds=DAY_MS - clock.at % DAY_MS - 1)
    with pytest.raises(RateLimitedError) as refused:
        _send(number, "key-2")
    assert refused.value.retry_after == 1
    clock.advance(milliseconds=1)
    assert json.loads(_send(number, "key-2").body)["status"] == "sent"

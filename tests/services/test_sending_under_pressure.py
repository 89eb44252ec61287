"""A gateway with too large a backlog of deliveries or callbacks refuses new sends (setting DUE_LIMIT)."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from models.accounts.account import Account
from models.database import writing
from models.deliveries.backlog import Pressure
from models.deliveries.webhook import Webhook
from models.errors import RateLimitedError
from models.messages.callback import Callback
from models.messages.message import Message
from models.numbers.number import Number
from services import sending
from services.repeating import Answer
from tests import factories
from tests.conftest import Configure
from tests.fake_network import accept_all

LIMIT = 3


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch, configure: Configure) -> None:
    configure(DUE_LIMIT=str(LIMIT))
    accept_all(monkeypatch)
    # Each send reads the backlog again.
    monkeypatch.setattr(sending, "pressure", Pressure())
    monkeypatch.setattr("models.deliveries.backlog.LOOK_SECONDS", 0)


def _send(number: Number, key: str) -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    return asyncio.run(sending.send(number.account_id, body, key))


def _refused() -> float:
    return REGISTRY.get_sample_value("gateway_sends_refused_busy_total") or 0


def _fall_behind(account: Account) -> Webhook:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=LIMIT)
    Callback.store(b"{}")
    return webhook


def test_past_the_limit_a_send_is_refused_and_a_stored_response_is_returned(
    account: Account, number: Number
) -> None:
    assert _send(number, "key-1").status == 200
    _fall_behind(account)
    before, counted = Message.select().count(), _refused()
    with pytest.raises(RateLimitedError, match="behind") as refused:
        _send(number, "key-2")
    assert refused.value.retry_after == 5
    assert _refused() == counted + 1
    assert Message.select().count() == before
    assert _send(number, "key-1").is_replayed
    with writing():
        Callback.finish(Callback.get().id)
    assert _send(number, "key-2").status == 200


@pytest.mark.parametrize(
    "change",
    [
        {"slow": True},
        {"trial_minute_at": 0},
        {"active": False},
        {"paused_until": 1 << 50},
        {"rests_until": 1 << 50},
        {"max_rate": 1, "opens_at": 1 << 50},
    ],
)
def test_deliveries_that_delay_no_others_do_not_count_against_the_limit(
    account: Account, number: Number, change: dict[str, object]
) -> None:
    webhook = _fall_behind(account)
    with writing():
        Webhook.update(change).where(Webhook.id == webhook.id).execute()
    assert _send(number, "key-1").status == 200


def test_without_a_limit_no_send_is_refused(
    account: Account, number: Number, configure: Configure
) -> None:
    configure(DUE_LIMIT="0")
    _fall_behind(account)
    assert _send(number, "key-1").status == 200

"""Whose turn it is: suspects one by one, and those that waited for a full lane."""

import threading
import time

import pytest

from models import clock
from models.accounts.account import Account
from models.database import writing
from models.deliveries import claim
from models.deliveries.claim import LEAST_TRIES
from models.deliveries.delivery import Delivery, DeliveryState
from tasks import deliver
from tests import factories
from tests.receiver import Behaviour, Exchange, Receiver, answer
from tests.tasks.engines import TIMEOUT, make_engine, running
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.schedule import RetrySchedule

pytestmark = pytest.mark.usefixtures("state")


def _answer_after(event: threading.Event) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        event.wait(TIMEOUT)
        exchange.reply(200)

    return behave


def _suspect(account: Account, receiver: Receiver, count: int) -> None:
    """Deliveries whose workers died in all attempts but the last one."""
    rows = factories.deliveries(account, factories.webhook(account, receiver.url()), count=count)
    with writing():
        dead = {"tries": LEAST_TRIES - 1, "lease_token": "dead", "due_at": clock.now()}
        Delivery.update(due=False, **dead).execute()
        for row in rows:
            claim._note_lost(row.id, 1, clock.now())


def _are_delivered() -> bool:
    return {row.state for row in Delivery.select()} == {DeliveryState.DELIVERED}


def test_suspects_are_attempted_one_by_one(account: Account, receiver: Receiver) -> None:
    release = threading.Event()
    receiver.behave(_answer_after(release))
    _suspect(account, receiver, 2)
    with running():
        receiver.wait(1)
        # The engine polls many times meanwhile.
        time.sleep(0.2)
        assert len(receiver.at()) == 1
        release.set()
        until(_are_delivered, "the delivery of both")


def test_a_poll_looks_for_a_suspect_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(deliver, "claim_suspect", lambda last_try, *_: looks.append(last_try))
    engine = make_engine()
    engine.start()
    engine._call(engine._wake_all)
    until(lambda: looks, "a look for suspects")
    time.sleep(0.1)
    engine.stop()
    assert looks == [LEAST_TRIES]


def test_what_waited_for_a_full_lane_needs_no_other_wake_up(receiver: Receiver) -> None:
    client = WebhookClient(timeout=TIMEOUT, allow_local=True, user_agent="x", most_open=4)
    engine = deliver.Engine(client, RetrySchedule(()), TIMEOUT, 10)
    first, second = threading.Event(), threading.Event()
    receiver.behave(_answer_after(first), "/first")
    receiver.behave(_answer_after(second), "/second")
    receiver.behave(answer(200), "/third")
    engine.start()
    # One after the other fill the lane, which has room for two.
    for path in ("/first", "/second", "/third"):
        owner = Account.open(path, "pro")
        factories.deliveries(owner, factories.webhook(owner, receiver.url(path)))
        engine.wake()
        if path != "/third":
            receiver.wait(1, path)
    until(lambda: engine._lanes[0].is_full, "a full lane")
    time.sleep(0.1)
    assert receiver.at("/third") == []
    first.set()
    receiver.wait(1, "/third")
    second.set()
    engine.stop()
    assert _are_delivered()

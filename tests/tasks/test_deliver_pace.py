"""The engine at the pace of real receivers: refusals, rests and the share of an account (ADR 88)."""

import threading
import time
from collections import Counter

import pytest

from models import clock
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from services import webhooks as service
from tasks import deliver
from tests import factories
from tests.receiver import Behaviour, Exchange, Receiver, answer
from tests.tasks.engines import TIMEOUT, running
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.pace import FIRST
from webhooks.schedule import RetrySchedule

# A receiver accepts so many requests in each period, in seconds.
LIMIT, PERIOD = 15, 0.1
EVENTS = 200

pytestmark = pytest.mark.usefixtures("state")


def _engine(delay: float, most_open: int = 100) -> deliver.Engine:
    """An engine that retries after this many seconds, with so many connections."""
    client = WebhookClient(
        timeout=TIMEOUT, allow_local=True, user_agent="Gateway/1", most_open=most_open
    )
    return deliver.Engine(client, RetrySchedule((delay,) * 3), TIMEOUT, 10)


def _delivered() -> int:
    return int(Delivery.select().where(Delivery.state == DeliveryState.DELIVERED).count())


class Limited:
    """Responds with 429 above LIMIT requests in a period."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.answers: Counter[int] = Counter()
        self._headers = headers
        self._lock = threading.Lock()
        self._taken: Counter[int] = Counter()

    def behave(self, exchange: Exchange) -> None:
        """Answer one request."""
        period = int(time.monotonic() / PERIOD)
        with self._lock:
            self._taken[period] += 1
            status = 200 if self._taken[period] <= LIMIT else 429
            self.answers[status] += 1
        exchange.reply(status, headers=self._headers if status == 429 else {})


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "1"}])
def test_a_receiver_that_accepts_few_requests_gets_all_events_and_refuses_few(
    account: Account, receiver: Receiver, headers: dict[str, str]
) -> None:
    limited = Limited(headers)
    receiver.behave(limited.behave)
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook, count=EVENTS)
    with running(_engine(delay=0.5)):
        until(lambda: not Delivery.select().where(Delivery.state == "pending").exists(), "all")
    assert _delivered() == EVENTS
    assert Webhook.get_by_id(webhook.id).active
    assert limited.answers[200] == EVENTS
    # The pace is found by some dozens of refusals. Of more events they are a smaller part (benchmarks.pace).
    assert limited.answers[429] < 0.4 * limited.answers.total()


def _once(first: Behaviour, receiver: Receiver) -> Behaviour:
    """A behaviour for the first request. Later ones get 200."""

    def behave(exchange: Exchange) -> None:
        (first if len(receiver.at()) == 1 else answer(200))(exchange)

    return behave


def test_new_events_wait_for_as_long_as_the_receiver_asks(
    account: Account, receiver: Receiver
) -> None:
    receiver.behave(_once(answer(429, Retry_After="1"), receiver))
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook)
    with running(_engine(delay=600)):
        receiver.wait(1)
        until(lambda: Webhook.get_by_id(webhook.id).rests_until is not None, "a rest")
        asked_at = time.monotonic()
        factories.deliveries(account, webhook, count=5)
        receiver.wait(6)
        assert time.monotonic() - asked_at > 0.8
    assert _delivered() == 5


def test_events_that_wait_for_the_rate_need_no_other_wake_up(
    account: Account, receiver: Receiver
) -> None:
    def refuse(exchange: Exchange) -> None:
        # The rate begins with half of the window for each answer time.
        time.sleep(0.5)
        exchange.reply(429)

    receiver.behave(_once(refuse, receiver))
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook)
    engine = _engine(delay=600)
    engine.start()
    until(lambda: Attempt.select().exists(), "a refusal")
    factories.deliveries(account, webhook, count=10)
    engine.wake()
    until(lambda: _delivered() == 10, "the events that waited")
    engine.stop()


def test_a_webhook_gets_at_most_the_events_a_second_that_its_account_chose(
    account: Account, receiver: Receiver
) -> None:
    came: list[float] = []

    def behave(exchange: Exchange) -> None:
        came.append(time.monotonic())
        exchange.reply(200)

    receiver.behave(behave)
    webhook = factories.webhook(account, receiver.url())
    service.change(webhook, max_rate=10)
    factories.deliveries(account, webhook, count=30)
    engine = _engine(delay=600)
    engine.start()
    # No poll: the engine wakes itself.
    until(lambda: _delivered() == 30, "all")
    engine.stop()
    # Three may start together, and ten a second then.
    assert 2.6 <= came[-1] - came[0] < 4


def test_a_removed_limit_is_noticed_within_seconds(account: Account, receiver: Receiver) -> None:
    receiver.behave(answer(200))
    webhook = factories.webhook(account, receiver.url())
    retry, *_ = factories.deliveries(account, webhook, count=3)
    service.change(webhook, max_rate=1)
    with writing():
        Delivery.update(tries=1).where(Delivery.id == retry.id).execute()
        # Retries have used up the next 50 seconds.
        webhook.note_rate(clock.now(), 50)
    with running(_engine(delay=600)):
        until(lambda: _delivered() == 1, "the retry")
        service.change(webhook, max_rate=0)
        until(lambda: _delivered() == 3, "the events that waited")


def test_a_retry_goes_out_during_a_rest_and_its_2xx_ends_it(
    account: Account, receiver: Receiver
) -> None:
    receiver.behave(_once(answer(429, Retry_After="3600"), receiver))
    webhook = factories.webhook(account, receiver.url())
    [first] = factories.deliveries(account, webhook)
    with running(_engine(delay=0.5)):
        until(lambda: Webhook.get_by_id(webhook.id).rests_until is not None, "a rest")
        others = factories.deliveries(account, webhook, count=5)
        requests = receiver.wait(7)
    ids = [request.headers["x-service-delivery"] for request in requests]
    assert ids[:2] == [first.id, first.id]
    assert set(ids[2:]) == {other.id for other in others}
    assert Webhook.get_by_id(webhook.id).rests_until is None


@pytest.mark.parametrize("is_end", [False, True])
def test_410_disables_a_webhook_only_by_the_setting(
    account: Account, receiver: Receiver, *, is_end: bool
) -> None:
    receiver.behave(answer(410))
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook)
    client = WebhookClient(timeout=TIMEOUT, allow_local=True, user_agent="Gateway/1")
    schedule = RetrySchedule((600.0,))
    engine = deliver.Engine(client, schedule, TIMEOUT, 10, deactivate_when_gone=is_end)
    with running(engine):
        until(lambda: Attempt.select().exists(), "the attempt")
    assert Webhook.get_by_id(webhook.id).active != is_end
    [delivery] = Delivery.select()
    assert delivery.state == (DeliveryState.SKIPPED if is_end else DeliveryState.PENDING)


def test_a_webhook_gets_more_at_a_time_up_to_the_part_of_its_account(
    account: Account, receiver: Receiver
) -> None:
    """The client has 121 connections: 20 for slow receivers, 1 for a suspect, 100 for the others."""
    lock, together, most = threading.Lock(), Counter[str](), Counter[str]()

    def behave(exchange: Exchange) -> None:
        with lock:
            together["now"] += 1
            most["now"] = max(most["now"], together["now"])
        time.sleep(0.05)
        with lock:
            together["now"] -= 1
        exchange.reply(200)

    receiver.behave(behave)
    factories.deliveries(account, factories.webhook(account, receiver.url()), count=EVENTS)
    with running(_engine(delay=1, most_open=121)):
        until(lambda: _delivered() == EVENTS, "all")
    assert FIRST < most["now"] <= 20

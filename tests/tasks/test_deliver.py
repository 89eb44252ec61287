"""The delivery engine with real receivers and a schedule of milliseconds."""

import hashlib
import hmac
import signal
import threading
from contextlib import closing

import pytest

from models import doorbells
from models.accounts import secret
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Attempt
from models.deliveries.claim import MOST_BACK, Claim, Terms, claim_due
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.event import identified
from models.deliveries.webhook import Webhook
from tasks import deliver, queue
from tasks.queue import huey
from tests import factories
from tests.receiver import Exchange, Received, Receiver, answer, hang
from tests.tasks.engines import make_engine, running
from tests.waiting import until
from webhooks.pace import FIRST

pytestmark = pytest.mark.usefixtures("state")


def _states(webhook: Webhook) -> list[str]:
    query = Delivery.select().where(Delivery.webhook == webhook.id).order_by(Delivery.id)
    return [delivery.state for delivery in query]


def _is_signed(request: Received, webhook_secret: str) -> bool:
    digest = hmac.new(webhook_secret.encode(), request.body, hashlib.sha256).hexdigest()
    return request.headers["x-service-signature"] == f"sha256={digest}"


def test_a_due_delivery_is_signed_sent_and_recorded(account: Account, receiver: Receiver) -> None:
    webhook = factories.webhook(account, receiver.url())
    [delivery] = factories.deliveries(account, webhook, payload='{"a":1}')
    with running():
        [request] = receiver.wait()
    assert request.body == identified(delivery.event_id, '{"a":1}').encode()
    assert _is_signed(request, webhook.secret)
    assert request.headers["x-service-event"] == "number.banned"
    assert request.headers["x-service-delivery"] == delivery.id
    assert request.headers["x-service-attempt"] == "1"
    assert request.headers["user-agent"] == "Gateway/1"
    assert _states(webhook) == [DeliveryState.DELIVERED]
    [attempt] = Attempt.of(delivery)
    assert (attempt.success, attempt.status_code, attempt.response_body) == (True, 200, "ok")


def test_an_event_is_delivered_to_an_ipv6_address(account: Account) -> None:
    with closing(Receiver("::1")) as receiver:
        webhook = factories.webhook(account, receiver.url())
        factories.deliveries(account, webhook, count=2)
        with running():
            requests = receiver.wait(2)
    assert {request.peer[0] for request in requests} == {"::1"}
    assert {request.headers["host"] for request in requests} == {f"[::1]:{receiver.port}"}
    assert _states(webhook) == [DeliveryState.DELIVERED] * 2


def test_a_failing_receiver_gets_the_first_attempt_and_all_retries(
    account: Account, receiver: Receiver
) -> None:
    receiver.behave(answer(500, b"broken"))
    webhook = factories.webhook(account, receiver.url())
    [delivery] = factories.deliveries(account, webhook)
    with running():
        requests = receiver.wait(4)
    assert [request.headers["x-service-attempt"] for request in requests] == ["1", "2", "3", "4"]
    assert {request.headers["x-service-delivery"] for request in requests} == {delivery.id}
    assert len({request.body for request in requests}) == 1
    assert _states(webhook) == [DeliveryState.FAILED]
    log = [(a.number, a.status_code, a.error, a.response_body) for a in Attempt.of(delivery)]
    assert log == [(n, 500, "The receiver returned 500.", "broken") for n in (1, 2, 3, 4)]


def test_a_receiver_that_recovers_gets_its_event(account: Account, receiver: Receiver) -> None:
    def recover(exchange: Exchange) -> None:
        exchange.reply(503 if len(receiver.at()) < 3 else 200)

    receiver.behave(recover)
    webhook = factories.webhook(account, receiver.url())
    [delivery] = factories.deliveries(account, webhook)
    with running():
        receiver.wait(3)
    assert _states(webhook) == [DeliveryState.DELIVERED]
    assert [attempt.success for attempt in Attempt.of(delivery)] == [False, False, True]


def test_a_hanging_receiver_delays_no_other_and_is_capped(
    account: Account, receiver: Receiver
) -> None:
    receiver.behave(hang, "/hanging")
    hanging = [factories.webhook(account, receiver.url("/hanging")) for _ in range(2)]
    healthy = factories.webhook(account, receiver.url("/healthy"))
    factories.deliveries(account, *hanging, count=FIRST + 5)
    with running():
        receiver.wait(2 * FIRST, "/hanging")
        factories.deliveries(account, healthy, count=20)
        receiver.wait(20, "/healthy")
        assert len(receiver.at("/hanging")) == 2 * FIRST
        receiver.released.set()
    assert _states(healthy) == [DeliveryState.DELIVERED] * 20


def test_an_outcome_waits_for_no_slower_attempt(account: Account, receiver: Receiver) -> None:
    receiver.behave(hang, "/hanging")
    hanging = factories.webhook(account, receiver.url("/hanging"))
    healthy = factories.webhook(account, receiver.url("/healthy"))
    factories.deliveries(account, hanging, healthy)
    with running():
        receiver.wait(1, "/hanging")
        until(lambda: _states(healthy) == [DeliveryState.DELIVERED], "a recorded delivery")
        assert _states(hanging) == [DeliveryState.PENDING]
        receiver.released.set()


def test_stopping_finishes_the_attempts_under_way_and_claims_no_more(
    account: Account, receiver: Receiver
) -> None:
    def answer_when_released(exchange: Exchange) -> None:
        exchange.wait_for_release()
        exchange.reply(200)

    receiver.behave(answer_when_released)
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook, count=FIRST + 3)
    engine = make_engine()
    engine.start()
    receiver.wait(FIRST)
    stopped = threading.Thread(target=engine.stop)
    stopped.start()
    stopped.join(0.1)
    assert stopped.is_alive(), "it did not wait for its attempts"
    receiver.released.set()
    stopped.join()
    states = _states(webhook)
    assert states.count(DeliveryState.DELIVERED) == FIRST
    assert states.count(DeliveryState.PENDING) == 3
    assert {delivery.lease_token for delivery in Delivery.select()} == {None}


def test_each_attempt_is_signed_with_the_secret_of_its_moment(
    account: Account, receiver: Receiver
) -> None:
    webhook = factories.webhook(account, receiver.url())
    secrets = [webhook.secret]

    def rotate_and_fail(exchange: Exchange) -> None:
        Webhook.get_by_id(webhook.id).rotate_secret()
        Webhook._meta.database.close()
        exchange.reply(500 if len(receiver.at()) == 1 else 200)

    receiver.behave(rotate_and_fail)
    factories.deliveries(account, webhook)
    with running():
        first, second = receiver.wait(2)
    assert _is_signed(first, secrets[0])
    assert not _is_signed(second, secrets[0])


def test_a_webhook_whose_events_are_all_discarded_is_deactivated(
    account: Account, receiver: Receiver
) -> None:
    receiver.behave(answer(410))
    webhook = factories.webhook(account, receiver.url())
    with running(make_engine(deactivate_after=2)):
        for round_ in (1, 2):
            factories.deliveries(account, webhook)
            receiver.wait(4 * round_)
    assert not Webhook.get_by_id(webhook.id).active
    factories.deliveries(account, Webhook.get_by_id(webhook.id))
    with running():
        pass
    assert len(receiver.at()) == 8
    assert _states(webhook) == [DeliveryState.FAILED, DeliveryState.FAILED, DeliveryState.SKIPPED]


def test_a_secret_that_cannot_be_read_is_a_failed_attempt_that_says_so(
    account: Account, receiver: Receiver
) -> None:
    webhook = factories.webhook(account, receiver.url())
    [delivery] = factories.deliveries(account, webhook)
    secret.use_keys("another key")
    engine = make_engine()
    engine.start()
    until(lambda: Attempt.of(delivery), "an attempt")
    engine.stop()
    attempt = Attempt.of(delivery)[0]
    assert attempt.error is not None
    assert "GATEWAY_SECRET_KEY" in attempt.error
    assert attempt.duration_ms == 0
    assert receiver.at() == []


def test_an_engine_delivers_the_backlog_at_its_start(account: Account, receiver: Receiver) -> None:
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook, count=30)
    engine = make_engine()
    engine.start()
    receiver.wait(30)
    engine.stop()
    assert _states(webhook) == [DeliveryState.DELIVERED] * 30


def test_a_claim_that_fails_is_tried_again_at_the_next_wake_up(
    account: Account,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    factories.deliveries(account, factories.webhook(account, receiver.url()))
    failures = [OSError("disk full")]

    def claim(room: int, terms: Terms) -> Claim:
        if failures:
            raise failures.pop()
        return claim_due(room, terms)

    monkeypatch.setattr(deliver, "claim_due", claim)
    with running():
        receiver.wait()
    assert "claim failed" in caplog.text


def test_a_retry_needs_neither_the_queue_nor_a_wake_up(
    account: Account, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbells.deliveries, "ring", lambda: None)
    receiver.behave(lambda exchange: exchange.reply(200 if len(receiver.at()) > 1 else 500))
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook)
    engine = make_engine()
    # Its only wake-up.
    engine.start()

    def is_delivered() -> bool:
        # The worker polls a few times a second (gateway.worker).
        engine.look()
        return _states(webhook) == [DeliveryState.DELIVERED]

    until(is_delivered, "the retry's outcome")
    engine.stop()


def test_a_poll_brings_back_more_than_one_transaction_may(account: Account) -> None:
    webhooks = [factories.webhook(account) for _ in range(30)]
    factories.deliveries(account, *webhooks, count=MOST_BACK // 30 + 1)
    with writing():
        Delivery.update(due=False).execute()
    engine = make_engine()
    engine.look()
    engine.loop.close()
    assert Delivery.select().where(~Delivery.due).count() == 0


def test_a_wake_up_in_another_process_goes_through_the_queue() -> None:
    queue.deliveries.ring()
    assert huey.dequeue().name == "wake_for_deliveries"


def test_a_broken_queue_stops_no_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(huey, "storage", None)
    queue.deliveries.ring()
    assert "wake-up not queued" in caplog.text


def test_waking_an_engine_that_has_stopped_does_no_harm() -> None:
    engine = make_engine()
    engine.start()
    engine.stop()
    engine.wake()


def test_a_worker_whose_engine_died_gets_a_sigterm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise it would look alive and deliver nothing. The error is one that no task of it handles."""
    signals: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    monkeypatch.setattr(deliver, "Terms", None)
    engine = make_engine()
    try:
        engine.start()
        until(lambda: signals, "a signal to the own process")
    finally:
        engine.stop()
        signal.signal(signal.SIGTERM, before)
    assert signals == [signal.SIGTERM]
    assert "the delivery engine died" in caplog.text

"""The test delivery of a webhook (the operation testWebhook)."""

import asyncio
import hashlib
import hmac
import re
from contextlib import closing

import pytest

from models.accounts.account import Account
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery
from models.deliveries.outgoing import Outgoing
from models.deliveries.webhook import MINUTE_MS, MOST_ON_TRIAL, Webhook
from models.errors import RateLimitedError
from resources import sample
from services.webhooks import send_test_delivery
from tests import factories
from tests.conftest import Clock, Configure
from tests.receiver import Receiver, answer, hang
from webhooks.kinds import EventKind


def test_a_sample_of_the_first_kind_is_sent_signed(account: Account, receiver: Receiver) -> None:
    webhook = factories.webhook(account, receiver.url(), events=["message.read", "message.sent"])
    answered = asyncio.run(send_test_delivery(webhook))
    assert (answered.success, answered.status_code) == (True, 200)
    [request] = receiver.at()
    assert request.event["event"] == "message.read"
    assert request.event["id"] == request.headers["webhook-id"]
    digest = hmac.new(webhook.secret.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-service-signature"] == f"sha256={digest}"


@pytest.mark.parametrize("kind", EventKind)
def test_a_kind_that_is_asked_for_is_sent_subscribed_or_not(
    account: Account, receiver: Receiver, kind: EventKind
) -> None:
    webhook = factories.webhook(account, receiver.url(), events=["message.read"])
    assert asyncio.run(send_test_delivery(webhook, kind)).success
    [request] = receiver.at()
    assert request.event["event"] == request.headers["x-service-event"] == kind


@pytest.mark.parametrize(
    ("kind", "prefix"), [(EventKind.MESSAGE_READ, "msg"), (EventKind.NUMBER_BANNED, "num")]
)
def test_each_test_is_an_event_of_its_own(
    account: Account, receiver: Receiver, kind: EventKind, prefix: str
) -> None:
    """A receiver that deduplicates by event and data.id accepts the second one too."""
    webhook = factories.webhook(account, receiver.url())
    for _ in range(2):
        asyncio.run(send_test_delivery(webhook, kind))
    requests = receiver.at()
    for ids, form in (
        ({request.event["data"]["id"] for request in requests}, prefix),
        ({request.headers["webhook-id"] for request in requests}, "evt"),
        ({request.event["id"] for request in requests}, "evt"),
        ({request.headers["x-service-delivery"] for request in requests}, "dlv"),
    ):
        assert len(ids) == 2
        assert all(re.fullmatch(rf"{form}_[0-9A-Z]{{26}}", each) for each in ids)
    assert all(sample._TEXT in request.body.decode() for request in requests)


def test_an_inactive_webhook_can_be_tested(account: Account, receiver: Receiver) -> None:
    assert asyncio.run(
        send_test_delivery(factories.webhook(account, receiver.url(), active=False))
    ).success


def test_a_failure_is_neither_retried_nor_counted(account: Account, receiver: Receiver) -> None:
    receiver.behave(answer(500))
    webhook = factories.webhook(account, receiver.url())
    assert asyncio.run(send_test_delivery(webhook)).error == "The receiver returned 500."
    assert len(receiver.at()) == 1
    assert Webhook.get_by_id(webhook.id).failure_count == 0
    assert (Delivery.select().count(), Attempt.select().count()) == (0, 0)


def test_it_waits_no_longer_than_a_delivery_may(
    account: Account, receiver: Receiver, configure: Configure
) -> None:
    configure(DELIVERY_TIMEOUT="0.2")
    receiver.behave(hang)
    answered = asyncio.run(send_test_delivery(factories.webhook(account, receiver.url())))
    assert answered.status_code is None
    assert " 0.2 s" in str(answered.error)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("allowed", ["true", "false"])
def test_local_addresses_are_called_only_where_the_settings_allow_it(
    account: Account, configure: Configure, allowed: str, address: str
) -> None:
    configure(ALLOW_LOCAL_WEBHOOKS=allowed)
    with closing(Receiver(address)) as receiver:
        answered = asyncio.run(send_test_delivery(factories.webhook(account, receiver.url())))
        assert answered.success == (allowed == "true")
        assert len(receiver.at()) == (1 if allowed == "true" else 0)


def test_a_test_counts_against_the_limits_of_the_minute(
    account: Account, receiver: Receiver, configure: Configure, clock: Clock
) -> None:
    configure(WEBHOOK_REQUEST_LIMITS="starter=4,pro=4")
    webhook = factories.webhook(account, receiver.url())
    clock.advance(milliseconds=1)
    for _ in range(2):
        asyncio.run(send_test_delivery(webhook))
    with pytest.raises(RateLimitedError) as refused:
        asyncio.run(send_test_delivery(webhook))
    assert refused.value.retry_after == 60
    assert len(receiver.at()) == 2
    assert Outgoing.get().size == sum(len(request.body) for request in receiver.at())
    clock.advance(milliseconds=MINUTE_MS - 1)
    assert asyncio.run(send_test_delivery(webhook)).success


def test_tests_of_urls_that_never_responded_share_the_trial_of_their_host(
    account: Account, receiver: Receiver, clock: Clock
) -> None:
    assert clock.at
    urls = [receiver.url(f"/{path}") for path in range(3)]
    for path in range(3):
        receiver.behave(answer(404), f"/{path}")
    hooks = [Webhook.register(account.id, url, ["message.sent"], []) for url in urls]
    for turn in range(MOST_ON_TRIAL):
        assert asyncio.run(send_test_delivery(hooks[turn % 3])).status_code == 404
    with pytest.raises(RateLimitedError):
        asyncio.run(send_test_delivery(hooks[0]))
    assert sum(len(receiver.at(f"/{path}")) for path in range(3)) == MOST_ON_TRIAL


def test_at_a_host_that_responded_a_url_that_never_did_gets_ten_tests_a_minute(
    account: Account, receiver: Receiver, clock: Clock
) -> None:
    assert clock.at
    factories.webhook(account, receiver.url())
    receiver.behave(answer(404), "/new")
    hooks = [
        Webhook.register(account.id, receiver.url("/new"), ["message.sent"], []) for _ in range(2)
    ]
    for _ in range(MOST_ON_TRIAL):
        asyncio.run(send_test_delivery(hooks[0]))
    with pytest.raises(RateLimitedError):
        asyncio.run(send_test_delivery(hooks[0]))
    assert asyncio.run(send_test_delivery(hooks[1])).status_code == 404

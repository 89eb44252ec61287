"""The recorded headers of an attempt equal those that its receiver got."""

import asyncio
import time

import pytest

from contract_tests.standard_webhooks import TOO_OLD, VERIFIED, verdict
from models.accounts import rotation, secret
from models.accounts.account import Account
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import SECRET_OVERLAP_MS, Webhook
from services import webhooks as service
from services.webhooks import headers_of, make_client
from tasks import deliver
from tests import factories
from tests.conftest import Clock, Configure
from tests.receiver import Received, Receiver, answer
from tests.tasks.engines import running
from tests.waiting import until
from webhooks import signing
from webhooks.schedule import RetrySchedule

NAMES = {
    "Content-Type",
    "User-Agent",
    signing.HEADER,
    signing.ID_HEADER,
    signing.TIMESTAMP_HEADER,
    signing.STANDARD_HEADER,
    "X-Service-Event",
    "X-Service-Delivery",
    "X-Service-Attempt",
    "X-Service-Timestamp",
}


def _engine() -> deliver.Engine:
    """An engine with the default settings, with one retry after milliseconds."""
    return deliver.Engine(make_client(), RetrySchedule((0.02,)), 10, 10)


@pytest.fixture
def webhook(configure: Configure, account: Account, receiver: Receiver) -> Webhook:
    """A webhook of a receiver that answers 500."""
    configure(ALLOW_LOCAL_WEBHOOKS="true", SECRET_KEY="test-key")
    receiver.behave(answer(500))
    return factories.webhook(account, receiver.url())


@pytest.fixture
def failed(account: Account, webhook: Webhook, receiver: Receiver) -> Delivery:
    """A delivery that was attempted twice."""
    event = factories.event(account, payload='{"name":"Zoë"}')
    Delivery.schedule(event, [webhook])
    [row] = Delivery.select()
    with running(_engine()):
        receiver.wait(2)
        until(lambda: _find(row).state == DeliveryState.FAILED, "the end of the delivery")
    return _find(row)


def _find(row: Delivery) -> Delivery:
    found = Delivery.find(row.id)
    assert found is not None
    return found


def _named(request: Received) -> dict[str, str]:
    return {name: request.headers[name.lower()] for name in NAMES}


def test_every_attempt_has_the_headers_that_the_receiver_got(
    failed: Delivery, receiver: Receiver
) -> None:
    attempts = Attempt.of(failed)
    assert [attempt.number for attempt in attempts] == [1, 2]
    shown = [headers_of(attempt, failed) for attempt in attempts]
    assert shown == [_named(request) for request in receiver.wait(2)]
    assert [headers["X-Service-Attempt"] for headers in shown] == ["1", "2"]


def test_after_a_rotation_the_signatures_before_it_are_not_known(
    failed: Delivery, receiver: Receiver
) -> None:
    failed.webhook.rotate_secret()
    failed = _find(failed)
    for attempt, request in zip(Attempt.of(failed), receiver.wait(2), strict=True):
        signatures = dict.fromkeys((signing.HEADER, signing.STANDARD_HEADER))
        assert headers_of(attempt, failed) == {**_named(request), **signatures}


def test_an_attempt_after_a_rotation_is_shown_with_the_signatures_of_both_secrets(
    failed: Delivery, receiver: Receiver
) -> None:
    failed.webhook.rotate_secret()
    failed.redeliver()
    with running(_engine()):
        receiver.wait(3)
        until(lambda: len(Attempt.of(failed)) >= 3, "a third attempt")
    failed, got = _find(failed), _named(receiver.at()[2])
    assert len(got[signing.STANDARD_HEADER].split(" ")) == 2
    assert headers_of(Attempt.of(failed)[2], failed) == got
    # The shown headers stay those that were sent, also after the old secret expired.
    changed_at = failed.webhook.secret_changed_at
    assert changed_at is not None
    assert failed.webhook.secrets_at(changed_at + SECRET_OVERLAP_MS) == [failed.webhook.secret]


def test_a_delivery_that_is_replayed_after_six_minutes_is_refused_by_the_libraries(
    account: Account, webhook: Webhook, receiver: Receiver, clock: Clock
) -> None:
    """The libraries' clock cannot be moved, so the service's clock lags behind it."""
    receiver.behave(answer(200))
    for minutes_ago, expected in ((6, TOO_OLD), (4, VERIFIED)):
        clock.at = round((time.time() - minutes_ago * 60) * 1000)
        before = len(receiver.at())
        Delivery.schedule(factories.event(account), [webhook])
        with running(_engine()):
            *_, request = receiver.wait(before + 1)
        assert verdict(webhook.secret, request.headers, request.body) == expected


def test_a_secret_of_another_key_is_said_to_be_unreadable(failed: Delivery) -> None:
    secret.use_keys("another-key")
    [attempt, _] = Attempt.of(failed)
    with pytest.raises(secret.SecretUnreadableError):
        headers_of(attempt, failed)


OWN = {"Authorization": "Basic dGhlOnNlY3JldA==", "X-Tenant": "acme"}


def test_every_request_has_the_webhooks_own_headers_and_no_page_shows_their_values(
    configure: Configure, account: Account, receiver: Receiver
) -> None:
    configure(ALLOW_LOCAL_WEBHOOKS="true", SECRET_KEY="test-key")
    webhook = factories.webhook(account, receiver.url())
    service.change(webhook, headers=OWN)
    [delivery] = factories.deliveries(account, webhook)
    with running(_engine()):
        receiver.wait(1)
        until(lambda: _find(delivery).state == DeliveryState.DELIVERED, "the delivery")
    asyncio.run(service.send_test_delivery(Webhook.get_by_id(webhook.id)))
    for request in receiver.wait(2):
        assert {name: request.headers[name.lower()] for name in OWN} == OWN
        assert signing.HEADER.lower() in request.headers
    [attempt] = Attempt.of(_find(delivery))
    shown = headers_of(attempt, _find(delivery))
    assert {name: shown[name] for name in OWN} == dict.fromkeys(OWN, "****")


def test_headers_are_sealed_and_rotated_like_other_secrets(account: Account) -> None:
    webhook = factories.webhook(account)
    service.change(webhook, headers=OWN)
    stored = Webhook.get_by_id(webhook.id)
    assert stored.headers == OWN
    assert not any(value in stored.sealed_headers for value in OWN.values())
    assert (Webhook, Webhook.sealed_headers) in rotation.columns()
    service.change(webhook, headers=[])
    assert Webhook.get_by_id(webhook.id).sealed_headers is None


def test_a_webhook_whose_headers_cannot_be_decrypted_can_be_changed_and_deleted(
    account: Account,
) -> None:
    webhook = factories.webhook(account)
    service.change(webhook, headers=OWN)
    secret.use_keys("another")
    service.change(webhook, headers=[])
    service.delete(webhook)
    assert Webhook.by_id(webhook.id) is None

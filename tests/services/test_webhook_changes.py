"""Disabling and deleting a webhook wait for its running attempts."""

import threading
import time
from collections.abc import Callable

import pytest

from contract_tests.waiting import wait_for
from models.accounts.account import Account
from models.database import database
from models.database.postgresql import LostError
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.webhook import Webhook
from services import webhooks as service
from tests import factories
from tests.factories import claim_due

LONG = 60.0

Switch = Callable[[Webhook], None]


def _disable(webhook: Webhook) -> None:
    service.change(webhook, active=False)


@pytest.fixture(params=[_disable, service.delete])
def switch_off(request: pytest.FixtureRequest) -> Switch:
    """Each way to stop the requests to a webhook."""
    switch: Switch = request.param
    return switch


@pytest.fixture
def webhook(account: Account) -> Webhook:
    """A webhook with a claimed delivery."""
    row = factories.webhook(account)
    factories.deliveries(account, row)
    return row


def _took(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_it_waits_until_what_was_claimed_has_ended(
    webhook: Webhook, switch_off: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BEGUN_SECONDS", LONG)
    claimed = claim_due(10, Terms(10, 30_000))

    def run() -> None:
        switch_off(webhook)
        database.close()

    waiting = threading.Thread(target=run)
    waiting.start()
    wait_for(lambda: not Webhook.select().where(Webhook.active).exists(), "the change")
    waiting.join(0.1)
    assert waiting.is_alive()
    record_outcomes(map(factories.success, claimed), lambda _: None, 10)
    waiting.join(LONG / 2)
    assert not waiting.is_alive()


def test_it_waits_no_longer_than_an_attempt_takes_to_begin(
    webhook: Webhook, switch_off: Switch
) -> None:
    """A receiver may hang for much longer."""
    assert len(claim_due(10, Terms(10, 30_000))) == 1
    took = _took(lambda: switch_off(webhook))
    assert service.BEGUN_SECONDS < took < LONG / 2


def test_it_waits_for_no_other_webhook(
    account: Account, webhook: Webhook, switch_off: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BEGUN_SECONDS", LONG)
    [claimed] = claim_due(10, Terms(10, 30_000))
    assert claimed.webhook == webhook
    assert _took(lambda: switch_off(factories.webhook(account))) < LONG / 2


def test_a_change_of_anything_else_waits_for_nothing(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BEGUN_SECONDS", LONG)
    assert len(claim_due(10, Terms(10, 30_000))) == 1
    assert _took(lambda: service.change(webhook, events=["message.read"])) < LONG / 2


def test_a_change_that_runs_again_on_a_new_connection_makes_all_changes(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip, losses = Delivery.skip_waiting, [LostError("lost")]

    def lose_once(webhook_id: str) -> int:
        if losses:
            raise losses.pop()
        return skip(webhook_id)

    monkeypatch.setattr(Delivery, "skip_waiting", lose_once)
    monkeypatch.setattr(service, "BEGUN_SECONDS", 0)
    service.change(webhook, url="http://127.0.0.1:9/new", active=False)
    for seen in (webhook, Webhook.get_by_id(webhook.id)):
        assert (seen.url, seen.active) == ("http://127.0.0.1:9/new", False)

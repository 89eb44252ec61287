"""Which rows ring a doorbell after their commit, and which ring none."""

from collections.abc import Callable

import pytest

from models import doorbells
from models.accounts.account import Account
from models.database import database, write, writing
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.delivery import Delivery
from models.deliveries.webhook import Webhook
from models.messages.callback import Callback
from models.messages.erasure import Erasure
from tests import factories


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the doorbells that rang. Each rings outside of a transaction."""
    rings: list[str] = []

    def ring(name: str) -> Callable[[], None]:
        def note() -> None:
            assert not database.in_transaction()
            rings.append(name)

        return note

    for name in ("deliveries", "callbacks", "redeliveries", "erasures"):
        monkeypatch.setattr(getattr(doorbells, name), "ring", ring(name))
    return rings


@pytest.fixture
def webhook(account: Account) -> Webhook:
    return factories.webhook(account)


def test_deliveries_ring_after_their_commit(
    account: Account, webhook: Webhook, rings: list[str]
) -> None:
    event, other = factories.event(account), factories.webhook(account, "http://127.0.0.1:9/other")

    def schedule() -> None:
        Delivery.schedule(event, [webhook, other])
        assert not rings

    write(schedule, "key")
    assert set(rings) == {"deliveries"}


@pytest.mark.parametrize("is_there", [False, True])
def test_an_event_that_nobody_gets_rings_nothing(
    account: Account, rings: list[str], *, is_there: bool
) -> None:
    webhooks = [factories.webhook(account, active=False)] if is_there else []
    with writing():
        Delivery.schedule(factories.event(account), webhooks)
    assert not rings


def test_a_transaction_that_is_rolled_back_rings_nothing(
    account: Account, webhook: Webhook, rings: list[str]
) -> None:
    event = factories.event(account)

    def fail() -> None:
        with writing():
            Delivery.schedule(event, [webhook])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with writing():
        pass
    assert not rings


def test_each_kind_of_work_rings(account: Account, webhook: Webhook, rings: list[str]) -> None:
    number = factories.active_number(account)
    person = factories.contact(number)
    [delivery] = factories.deliveries(account, webhook)
    rings.clear()
    Callback.store(b"{}")
    delivery.redeliver()
    Redelivery.record(webhook.id, ["failed"], [delivery.id])
    Redelivery.record(webhook.id, ["failed"], [])
    Erasure.begin(person)
    assert rings == ["callbacks", "deliveries", "redeliveries", "erasures"]


def test_an_erasure_that_its_caller_works_off_rings_nothing(
    account: Account, rings: list[str]
) -> None:
    person = factories.contact(factories.active_number(account))
    Erasure.begin(person, 1000)
    assert not rings

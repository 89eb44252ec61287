"""Values that the contract has under a present and an earlier name."""

import json
from typing import Any

import pytest

from handlers import deliveries, events
from models.accounts.account import Account
from models.clock import timestamp
from models.deliveries.delivery import Delivery, DeliveryState
from tests import factories
from tests.asgi import content_of
from tests.conftest import Clock

FAILED, PENDING = "failed", "pending"
BANNED, ACTIVATED = "number.banned", "number.activated"


@pytest.fixture
def failed(account: Account) -> Delivery:
    """A failed delivery, beside a pending one."""
    made, _ = factories.deliveries(account, factories.webhook(account), count=2)
    Delivery.update(state=DeliveryState.FAILED).where(Delivery.id == made.id).execute()
    return made


def _listed(failed: Delivery, account: Account, **filters: Any) -> list[str]:
    page = deliveries.list_webhook_deliveries(account.id, failed.webhook_id, 20, 0, **filters)
    return [each["id"] for each in page["data"]]


def _events(account: Account, **filters: Any) -> list[str]:
    page = json.loads(content_of(events.list_events(account.id, 20, **filters)))
    return [each["id"] for each in page["data"]]


@pytest.mark.parametrize(
    "filters", [{"status": FAILED}, {"state": FAILED}, {"status": FAILED, "state": PENDING}]
)
def test_deliveries_are_filtered_by_status_or_its_earlier_name(
    account: Account, failed: Delivery, filters: dict[str, str]
) -> None:
    assert _listed(failed, account, **filters) == [failed.id]


def test_a_delivery_has_its_status_under_both_names(account: Account, failed: Delivery) -> None:
    shown = deliveries.get_delivery(account.id, failed.id)
    assert (shown["status"], shown["state"]) == (FAILED, FAILED)


@pytest.mark.parametrize(
    "payload",
    [
        {"statuses": [FAILED]},
        {"states": [FAILED]},
        {"statuses": [FAILED], "states": ["skipped"]},
    ],
)
def test_deliveries_are_sent_again_by_statuses_or_its_earlier_name(
    account: Account, failed: Delivery, payload: dict[str, Any]
) -> None:
    again = deliveries.redeliver_webhook_deliveries(account.id, failed.webhook_id, payload)
    assert again == {"count": 1}


@pytest.mark.parametrize("name", ["event", "kind"])
def test_events_are_filtered_by_event_or_its_earlier_name(account: Account, name: str) -> None:
    banned = factories.event(account, BANNED)
    factories.event(account, ACTIVATED)
    assert _events(account, **{name: [BANNED]}) == [banned.id]


def test_the_present_name_counts_if_both_are_given(account: Account) -> None:
    banned = factories.event(account, BANNED)
    assert _events(account, event=[BANNED], kind=[ACTIVATED]) == [banned.id]
    assert _events(account, event=[ACTIVATED], kind=[BANNED]) == []


def test_events_end_before_until(account: Account, clock: Clock) -> None:
    first = factories.event(account, BANNED)
    clock.advance(hours=1)
    second = factories.event(account, ACTIVATED)
    border = timestamp(clock.at)
    assert _events(account, until="2100-01-01T00:00:00Z") == [first.id, second.id]
    assert _events(account, until=border) == [first.id]
    assert _events(account, since=border) == [second.id]

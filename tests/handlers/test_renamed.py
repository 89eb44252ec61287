"""Values that the contract has under a present and an earlier name."""

import json
from typing import Any

import pytest

from handlers import deliveries, events
from models.accounts.account import Account
from models.clock import timestamp
from models.deliveries.delivery import Delivery, DeliveryState
from models.errors import InvalidError
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
    "filters", [{"status": FAILED}, {"state": FAILED}, {"status": FAILED, "state": FAILED}]
)
def test_deliveries_are_filtered_by_status_or_its_earlier_name(
    account: Account, failed: Delivery, filters: dict[str, str]
) -> None:
    assert _listed(failed, account, **filters) == [failed.id]


def test_a_delivery_has_its_status_under_both_names(account: Account, failed: Delivery) -> None:
    shown = deliveries.get_delivery(account.id, failed.id)
    assert (shown["status"], shown["state"]) == (FAILED, FAILED)


def test_two_statuses_of_one_filter_are_an_error(account: Account, failed: Delivery) -> None:
    with pytest.raises(InvalidError) as caught:
        _listed(failed, account, status=FAILED, state=PENDING)
    assert caught.value.details == {"field": "/state"}
    assert all(name in caught.value.message for name in ("status", "state"))


@pytest.mark.parametrize(
    "payload",
    [
        {"statuses": [FAILED]},
        {"states": [FAILED]},
        {"statuses": [FAILED, PENDING], "states": [PENDING, FAILED]},
    ],
)
def test_deliveries_are_sent_again_by_statuses_or_its_earlier_name(
    account: Account, failed: Delivery, payload: dict[str, Any]
) -> None:
    again = deliveries.redeliver_webhook_deliveries(account.id, failed.webhook_id, payload)
    assert again == {"count": 1}


def test_two_lists_of_statuses_are_an_error_that_sends_nothing(
    account: Account, failed: Delivery
) -> None:
    payload = {"statuses": [FAILED], "states": ["skipped"]}
    with pytest.raises(InvalidError) as caught:
        deliveries.redeliver_webhook_deliveries(account.id, failed.webhook_id, payload)
    assert caught.value.details == {"field": "/states"}
    assert Delivery.get_by_id(failed.id).state == FAILED


@pytest.mark.parametrize("name", ["event", "kind"])
def test_events_are_filtered_by_event_or_its_earlier_name(account: Account, name: str) -> None:
    banned = factories.event(account, BANNED)
    factories.event(account, ACTIVATED)
    assert _events(account, **{name: [BANNED]}) == [banned.id]


def test_two_kinds_of_events_for_one_filter_are_an_error(account: Account) -> None:
    assert _events(account, event=[BANNED, ACTIVATED], kind=[ACTIVATED, BANNED]) == []
    with pytest.raises(InvalidError) as caught:
        _events(account, event=[BANNED], kind=[ACTIVATED])
    assert caught.value.details == {"field": "/kind"}


def test_events_end_before_until(account: Account, clock: Clock) -> None:
    first = factories.event(account, BANNED)
    clock.advance(hours=1)
    second = factories.event(account, ACTIVATED)
    border = timestamp(clock.at)
    assert _events(account, until="2100-01-01T00:00:00Z") == [first.id, second.id]
    assert _events(account, until=border) == [first.id]
    assert _events(account, since=border) == [second.id]

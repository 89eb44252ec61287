"""Filtering deliveries, and redelivering many of them."""

import sqlite3
from typing import Any

import pytest

from contract_tests.stored import Stored
from handlers import deliveries
from models.accounts.account import Account
from models.clock import timestamp
from models.database import database, writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from models.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from services import redeliver
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due

SENT, READ = "message.sent", "message.read"


@pytest.fixture
def webhook(account: Account) -> Webhook:
    """An active webhook."""
    return factories.webhook(account)


def _schedule(account: Account, webhook: Webhook, kind: str = SENT) -> str:
    event = factories.event(account, kind)
    with writing():
        Delivery.schedule(event, [webhook])
    return str(Delivery.get(Delivery.event == event.id).id)


def _finish_all(*, success: bool) -> None:
    finish = factories.success if success else factories.failure
    record_outcomes(map(finish, claim_due(100, Terms(100, 1000))), lambda _: None, 1000)


def _list(webhook: Webhook, **parameters: Any) -> Any:
    paged = {"limit": 20, "offset": 0} | parameters
    return deliveries.list_webhook_deliveries(webhook.account_id, webhook.id, **paged)


def _ids(webhook: Webhook, **filters: str) -> list[str]:
    return [delivery["id"] for delivery in _list(webhook, **filters)["data"]]


def test_deliveries_are_listed_newest_first_in_pages(account: Account, webhook: Webhook) -> None:
    other = factories.webhook(account)
    made = [_schedule(account, webhook) for _ in range(5)]
    _schedule(account, other)
    page = _list(webhook, limit=2, offset=1)
    assert [delivery["id"] for delivery in page["data"]] == [made[3], made[2]]
    assert page["pagination"] | {"nextCursor": ""} == {
        "total": 5,
        "limit": 2,
        "offset": 1,
        "nextCursor": "",
    }


def test_each_state_is_a_filter(account: Account, webhook: Webhook) -> None:
    expected = {}
    expected["delivered"] = [_schedule(account, webhook)]
    _finish_all(success=True)
    expected["failed"] = [_schedule(account, webhook)]
    _finish_all(success=False)
    with writing():
        webhook.deactivate()
    inactive = Webhook.get_by_id(webhook.id)
    expected["skipped"] = [_schedule(account, inactive)]
    with writing():
        inactive.activate()
    expected["pending"] = [_schedule(account, Webhook.get_by_id(webhook.id))]
    assert {str(state): _ids(webhook, state=state) for state in DeliveryState} == expected


def test_the_event_kind_is_a_filter(account: Account, webhook: Webhook) -> None:
    sent, read = _schedule(account, webhook, SENT), _schedule(account, webhook, READ)
    assert _ids(webhook, event=SENT) == [sent]
    assert _ids(webhook, event=READ) == [read]
    assert _ids(webhook, event="message.failed") == []


def test_since_is_inclusive_and_until_is_not(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    made, at = [], []
    for _ in range(3):
        at.append(timestamp(clock.advance(milliseconds=1)))
        made.append(_schedule(account, webhook))
    assert _ids(webhook, since=at[1]) == [made[2], made[1]]
    assert _ids(webhook, until=at[1]) == [made[0]]
    assert _ids(webhook, since=at[1], until=at[2]) == [made[1]]
    assert _ids(webhook, since=at[1], until=at[1]) == []


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [
        ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", 1),
        ("9999-12-31T23:59:59Z", None, 0),
        (None, "0001-01-01T00:00:00Z", 0),
    ],
)
def test_times_far_away_are_times(
    account: Account, webhook: Webhook, since: str | None, until: str | None, found: int
) -> None:
    _schedule(account, webhook)
    given = {"since": since, "until": until}
    assert len(_ids(webhook, **{k: v for k, v in given.items() if v})) == found


def test_filters_are_combined_with_and(account: Account, webhook: Webhook, clock: Clock) -> None:
    _schedule(account, webhook)
    clock.advance(seconds=1)
    border = timestamp(clock.at)
    _schedule(account, webhook, READ)
    wanted = _schedule(account, webhook)
    _finish_all(success=False)
    _schedule(account, webhook)
    assert _ids(webhook, state="failed", event=SENT, since=border) == [wanted]


def test_a_time_without_a_zone_is_refused(webhook: Webhook) -> None:
    with pytest.raises(InvalidError, match="since"):
        _list(webhook, since="2026-11-20T09:30:00")


@pytest.mark.sqlite("the words of its query plans")
@pytest.mark.parametrize(
    ("filters", "step"),
    [
        ({}, "delivery_webhook_id_id (webhook_id=?)"),
        ({"event": SENT}, "delivery_webhook_id_id (webhook_id=?)"),
        ({"state": "delivered"}, "delivery_webhook_id_id (webhook_id=?)"),
        ({"state": "failed"}, "delivery_undelivered (webhook_id=?)"),
        ({"state": "skipped", "event": SENT}, "delivery_undelivered (webhook_id=?)"),
        ({"since": "2026-11-20T00:00:00Z"}, "delivery_webhook_id_id (webhook_id=? AND id>?)"),
        (
            {"state": "failed", "until": "2026-11-20T00:00:00Z"},
            "delivery_undelivered (webhook_id=? AND id<?)",
        ),
    ],
)
def test_a_page_comes_from_an_index_in_its_order(
    account: Account,
    webhook: Webhook,
    state: Stored,
    monkeypatch: pytest.MonkeyPatch,
    filters: dict[str, str],
    step: str,
) -> None:
    """No query sorts, and times bound the search, however many deliveries the webhook has."""
    _schedule(account, webhook)
    # A page of a filter whose total is 0 reads no rows.
    monkeypatch.setattr("models.page._count", lambda *_: 1)
    statements: list[str] = []
    database.connection().set_trace_callback(statements.append)
    _list(webhook, **filters)
    database.connection().set_trace_callback(None)
    [listing] = [s for s in statements if "ORDER BY" in s and "COUNT" not in s]
    reader = sqlite3.connect(state.database_path)
    plan = [row[3] for row in reader.execute(f"EXPLAIN QUERY PLAN {listing}")]
    reader.close()
    assert plan == [f"SEARCH t1 USING INDEX {step}"]


def _redeliver(webhook: Webhook, **body: Any) -> Any:
    return deliveries.redeliver_webhook_deliveries(webhook.account_id, webhook.id, body)


def test_many_are_only_counted_by_the_request(account: Account, webhook: Webhook) -> None:
    _schedule(account, webhook)
    _finish_all(success=False)
    assert _redeliver(webhook) == {"count": 1}
    assert Delivery.get().state == DeliveryState.FAILED
    redeliver.work_off()
    assert Delivery.get().state == DeliveryState.PENDING


def test_states_and_times_choose_which_are_redelivered(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    _schedule(account, webhook)
    _finish_all(success=True)
    border = timestamp(clock.advance(seconds=1))
    _schedule(account, webhook)
    _finish_all(success=False)
    counts = []
    for body in (
        {},
        {"states": ["delivered"]},
        {"states": ["delivered"], "includeDelivered": True},
        {"states": ["delivered", "failed", "skipped"]},
        {"includeDelivered": True},
        {"states": ["skipped"], "includeDelivered": True},
        {"since": border, "states": ["delivered"]},
        {"until": border},
        {"states": ["failed", "failed"]},
    ):
        counts.append(_redeliver(webhook, **body)["count"])
        assert _redeliver(webhook, **body)["count"] == 0, "it waits already"
        Redelivery.delete().execute()
    assert counts == [1, 0, 1, 1, 2, 1, 0, 0, 1]


@pytest.mark.parametrize("states", [["pending"], ["pending", "failed"]])
def test_pending_deliveries_are_not_scheduled_again(
    account: Account, webhook: Webhook, states: list[str]
) -> None:
    _schedule(account, webhook)
    assert _redeliver(webhook, states=states) == {"count": 0}
    assert Redelivery.webhook_ids() == []


@pytest.mark.parametrize("body", [{"since": "soon"}, {"until": "2026-11-20T09:30:00"}])
def test_a_wrong_time_redelivers_nothing(webhook: Webhook, body: dict[str, str]) -> None:
    with pytest.raises(InvalidError, match="Request body"):
        _redeliver(webhook, **body)
    assert Redelivery.webhook_ids() == []


def test_an_inactive_webhook_redelivers_nothing(account: Account, webhook: Webhook) -> None:
    _schedule(account, webhook)
    with writing():
        webhook.deactivate()
        Delivery.skip_waiting(webhook.id)
    with pytest.raises(ConflictError):
        _redeliver(webhook)
    assert Redelivery.webhook_ids() == []


def test_only_the_owner_lists_and_redelivers(account: Account, webhook: Webhook) -> None:
    stranger = Account.open("Other", "pro").id
    assert stranger != account.id
    with pytest.raises(ForbiddenError):
        deliveries.list_webhook_deliveries(stranger, webhook.id, 20, 0)
    with pytest.raises(ForbiddenError):
        deliveries.redeliver_webhook_deliveries(stranger, webhook.id, {})
    with pytest.raises(NotFoundError):
        deliveries.redeliver_webhook_deliveries(account.id, "wh_none", {})

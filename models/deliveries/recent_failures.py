"""Deliveries that failed in the last 24 hours and were not redelivered, by webhook."""

from collections.abc import Sequence
from typing import Any

from peewee import SQL, fn

from models.clock import id_bound
from models.database import reading
from models.deliveries.delivery import IS_UNDELIVERED, Delivery, DeliveryState

MINUTE_MS = 60 * 1000
DAY_MS = 24 * 60 * MINUTE_MS


def a_day_before(now: int) -> int:
    """24 hours ago, rounded down to the minute, because the dashboard's filter by time has minutes."""
    return (now - DAY_MS) // MINUTE_MS * MINUTE_MS


def failed_in_a_day(webhook_ids: Sequence[str], now: int) -> dict[str, int]:
    """The number of failed deliveries of the last 24 hours, by webhook. Webhooks without any are left out."""
    query: Any = Delivery.select(Delivery.webhook, fn.COUNT(SQL("*"))).where(
        Delivery.webhook.in_(list(webhook_ids)),
        IS_UNDELIVERED,
        Delivery.state == DeliveryState.FAILED,
        Delivery.id >= id_bound("dlv", a_day_before(now)),
    )
    with reading():
        return {webhook: int(count) for webhook, count in query.group_by(Delivery.webhook).tuples()}

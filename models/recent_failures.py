"""Events that failed in a day and were not delivered since, by webhook: what somebody should redeliver."""

from collections.abc import Sequence
from typing import Any

from peewee import SQL, fn

from models.clock import id_bound
from models.database import reading
from models.delivery import IS_UNDELIVERED, Delivery, DeliveryState

MINUTE_MS = 60 * 1000
DAY_MS = 24 * 60 * MINUTE_MS


def a_day_before(now: int) -> int:
    """The whole minute in which a day ago lies: a filter by time has minutes."""
    return (now - DAY_MS) // MINUTE_MS * MINUTE_MS


def failed_in_a_day(webhook_ids: Sequence[str], now: int) -> dict[str, int]:
    """How many deliveries of the last 24 hours are failed, by webhook. One without any is not in it."""
    query: Any = Delivery.select(Delivery.webhook, fn.COUNT(SQL("*"))).where(
        Delivery.webhook.in_(list(webhook_ids)),
        IS_UNDELIVERED,
        Delivery.state == DeliveryState.FAILED,
        Delivery.id >= id_bound("dlv", a_day_before(now)),
    )
    with reading():
        return {webhook: int(count) for webhook, count in query.group_by(Delivery.webhook).tuples()}

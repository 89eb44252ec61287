"""Events that failed lately and were not delivered since, by webhook: what somebody should redeliver."""

from collections.abc import Sequence
from typing import Any

from peewee import SQL, fn

from models.clock import id_bound
from models.database import reading
from models.delivery import IS_UNDELIVERED, Delivery, DeliveryState

DAY_MS = 24 * 60 * 60 * 1000


def failed_in_a_day(webhook_ids: Sequence[str], now: int) -> dict[str, int]:
    """How many deliveries of the last 24 hours are failed, by webhook. One without any is not in it."""
    query: Any = Delivery.select(Delivery.webhook, fn.COUNT(SQL("*"))).where(
        Delivery.webhook.in_(list(webhook_ids)),
        IS_UNDELIVERED,
        Delivery.state == DeliveryState.FAILED,
        Delivery.id >= id_bound("dlv", now - DAY_MS),
    )
    with reading():
        return {webhook: int(count) for webhook, count in query.group_by(Delivery.webhook).tuples()}

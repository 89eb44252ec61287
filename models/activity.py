"""What an account did in the last hours: messages sent and events delivered, counted by the hour."""

from dataclasses import dataclass
from typing import Any

from peewee import SQL, fn

from models.clock import id_bound
from models.database import reading
from models.delivery import Delivery, DeliveryState
from models.message import Message
from models.webhook import Webhook

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Hour:
    """``start`` is in milliseconds. ``deliveries`` were made in this hour and are delivered."""

    start: int
    sends: int
    deliveries: int


def hourly(account_id: str, now: int, hours: int) -> list[Hour]:
    """The last ``hours`` hours, oldest first, the hour of ``now`` last."""
    last = now // HOUR_MS
    wanted = range(last - hours + 1, last + 1)
    since = wanted[0] * HOUR_MS
    sends = Message.select().where(
        Message.account == account_id,
        Message.direction == "OUTBOUND",
        Message.id >= id_bound("msg", since),
    )
    deliveries = Delivery.select().where(
        Delivery.webhook.in_([webhook.id for webhook in Webhook.all(account_id)]),
        Delivery.state == DeliveryState.DELIVERED,
        Delivery.id >= id_bound("dlv", since),
    )
    sent = _by_hour(sends, Message.created_at)
    delivered = _by_hour(deliveries, Delivery.created_at)
    return [Hour(hour * HOUR_MS, sent.get(hour, 0), delivered.get(hour, 0)) for hour in wanted]


def _by_hour(rows: Any, created_at: Any) -> dict[int, int]:
    with reading():
        # Whole numbers divide into whole numbers. PostgreSQL would not know two parameters for the same one.
        counts = rows.select(created_at / HOUR_MS, fn.COUNT(SQL("*"))).group_by(SQL("1"))
        return dict(counts.tuples())

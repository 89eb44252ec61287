"""What waits to be delivered, for operators. What waits to be removed does not count."""

from dataclasses import dataclass
from typing import Any, Self

from peewee import SQL, fn

from models import clock
from models.database import reading
from models.delivery import IS_PENDING, Delivery
from models.webhook import Webhook


@dataclass(frozen=True)
class Backlog:
    """``pending`` deliveries wait or are under way, ``due`` ones could go now; the age in seconds."""

    pending: int
    due: int
    oldest_due_seconds: float

    @classmethod
    def read(cls) -> Self:
        """Count now. Of the deliveries it reads one index only, of what is pending."""
        now = clock.now()
        at = Delivery.next_attempt_at
        counted = Delivery.select(
            fn.COUNT(SQL("*")), fn.COUNT(SQL("*")).filter(at <= now), fn.MIN(at)
        ).where(Delivery.state == IS_PENDING, Delivery.webhook.not_in(Webhook.deleted()))
        with reading():
            rows: Any = counted.tuples()
            [(pending, due, oldest)] = rows
        return cls(pending, due, max(0, now - oldest) / 1000 if oldest is not None else 0.0)

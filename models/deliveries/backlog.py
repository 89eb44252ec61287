"""The deliveries that wait, and those that failed in the last 24 hours and were not redelivered."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from peewee import SQL, fn

from models import clock
from models.clock import DAY_MS, MINUTE_MS
from models.database import Prepared, database_time, fetch, read, reading
from models.deliveries.delivery import IS_PENDING, IS_UNDELIVERED, Delivery, DeliveryState
from models.deliveries.webhook import LONGEST_BATCH_MS, Webhook
from models.messages.callback import AT_ONCE, Callback

# Seconds between two counts of due work.
LOOK_SECONDS = 1.0
# The deliveries of a webhook that are due first are nearly always its oldest.
LOOKED_AT = 50


def is_full(limit: int) -> bool:
    """Whether more deliveries and callbacks than ``limit`` are due.

    Deliveries to slow receivers, to those that asked for a rest, to urls on trial, or above a limit do not
    count: they delay no others.
    """
    now, ends = database_time(clock.now()), (Webhook.paused_until, Webhook.rests_until)
    waits = [fn.COALESCE(end, 0) > now for end in ends]
    waits += [Webhook.slow, Webhook.trial_minute_at.is_null(False), Webhook.at_rate(now)]
    is_sent = Webhook.active, *(~wait for wait in waits)
    deliveries = Delivery.select(Delivery.id).join(Webhook).where(Delivery.due, *is_sent)
    callbacks = Callback.select(Callback.id).where(Callback.due_at == AT_ONCE)
    with reading():
        counts = (query.limit(limit + 1).count() for query in (deliveries, callbacks))
        return sum(counts) > limit


class Pressure:
    """Whether the worker is behind. Counts at most once in LOOK_SECONDS."""

    _is_full = False
    _look_at = 0.0

    async def is_above(self, limit: int) -> bool:
        """Whether more deliveries and callbacks than ``limit`` were due at the last count."""
        if time.monotonic() >= self._look_at:
            # Set before the count, so that concurrent requests do not count too.
            self._look_at = time.monotonic() + LOOK_SECONDS
            self._is_full = await read(lambda: is_full(limit))
        return self._is_full


pressure = Pressure()


@dataclass(frozen=True)
class Backlog:
    """``pending`` deliveries wait or are in an attempt, ``due`` ones could go now.

    The age is in seconds. Those that wait for the ``max_rate`` of their webhook are not due, and neither are
    those that may wait for a batch.
    """

    pending: int
    due: int
    oldest_due_seconds: float

    @classmethod
    def read(cls) -> Self:
        """Count now. Reads only the index of pending deliveries."""
        now = clock.now()
        at, limited = Delivery.due_at, Webhook.select(Webhook.id).where(Webhook.at_rate(now))
        batching = Webhook.select(Webhook.id).where(Webhook.waits_for_batch())
        has_waited = Delivery.webhook.not_in(batching) | (at <= now - LONGEST_BATCH_MS)
        is_free = Delivery.webhook.not_in(limited) & has_waited
        counted = Delivery.select(
            fn.COUNT(SQL("*")),
            fn.COUNT(SQL("*")).filter((at <= now) & is_free),
            fn.MIN(at).filter(is_free),
        ).where(Delivery.state == IS_PENDING, Delivery.webhook.not_in(Webhook.deleted()))
        [(pending, due, oldest)] = fetch(counted.tuples())
        return cls(pending, due, max(0, now - oldest) / 1000 if oldest is not None else 0.0)


def oldest_waiting(webhook_ids: Sequence[str]) -> Delivery | None:
    """The oldest pending delivery of these webhooks, among the first LOOKED_AT due ones of each."""
    with reading():
        firsts = [row for id_ in webhook_ids for row in _first_pending.execute(id_, LOOKED_AT)]
    return min(firsts, key=lambda delivery: delivery.created_at, default=None)


@partial(Prepared, model=Delivery)
def _first_pending(webhook_id: Any, limit: Any) -> Any:
    pending = Delivery.select().where(Delivery.webhook == webhook_id, Delivery.state == IS_PENDING)
    return pending.order_by(Delivery.due_at).limit(limit)


def a_day_before(now: int) -> int:
    """24 hours ago, rounded down to the minute, because the dashboard's filter by time has minutes."""
    return (now - DAY_MS) // MINUTE_MS * MINUTE_MS


def failed_in_a_day(webhook_ids: Sequence[str], now: int) -> dict[str, int]:
    """The number of failed deliveries of the last 24 hours, by webhook. Webhooks without any are left out."""
    query = Delivery.select(Delivery.webhook, fn.COUNT(SQL("*"))).where(
        Delivery.webhook.in_(list(webhook_ids)),
        IS_UNDELIVERED,
        Delivery.state == DeliveryState.FAILED,
        Delivery.id >= clock.id_bound("dlv", a_day_before(now)),
    )
    return dict(fetch(query.group_by(Delivery.webhook).tuples()))

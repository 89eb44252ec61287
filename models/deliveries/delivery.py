"""Deliveries: one event on its way to one webhook. These rows are the queue.

A pending delivery is ``due``, or waits until ``due_at``: for a retry, or for the end of a lease. Its lease is
that of all work (models.work). Its claims are fair (models.deliveries.claim).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from peewee import (
    SQL,
    BigIntegerField,
    BooleanField,
    ForeignKeyField,
    IntegerField,
    TextField,
    Value,
)

from models import clock, doorbells
from models.database import Prepared, database, database_time, exclusively, fetch, reading
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook, webhooks_of
from models.work import Lease

# The key that claims and outcomes lock (models.database.write). Both come in batches. One transaction at a
# time keeps the limits of accounts and hosts.
CLAIMS = "claims"
# This many rows keep other writers waiting for some hundredths of a second.
MOST_SKIPPED = 1_000
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_PENDING = SQL("'pending'")
IS_WAITING = SQL("state = 'pending' AND NOT due")
IS_DUE_AGAIN = SQL("due AND tries > 0")
IS_UNDELIVERED = SQL("state IN ('failed', 'skipped')")
FREQUENT = ("message.received", "message.sent", "message.delivered", "message.read")
IS_RARE = SQL(f"event_kind NOT IN {FREQUENT}")


class DeliveryState(StrEnum):
    """The state of a delivery (openapi.yaml, DeliveryState)."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    SKIPPED = "skipped"


UNDELIVERED = (DeliveryState.FAILED, DeliveryState.SKIPPED)
ENDED = (DeliveryState.DELIVERED, *UNDELIVERED)


class Delivery(Lease):
    """``attempt_count`` counts all attempts, ``tries`` those since it was last scheduled.

    Both include the current attempt.
    """

    webhook_id: str
    event_id: str
    id = TextField(primary_key=True)
    webhook = ForeignKeyField(Webhook, lazy_load=False, index=False, on_delete="CASCADE")
    event = ForeignKeyField(Event, lazy_load=False, index=False, on_delete="CASCADE")
    event_kind = TextField()
    state = TextField()
    attempt_count = IntegerField(default=0)
    tries = IntegerField(default=0)
    due_at = BigIntegerField(null=True, column_name="next_attempt_at")
    lease_token = TextField(null=True)
    created_at = BigIntegerField()
    completed_at = BigIntegerField(null=True)
    due = BooleanField(default=False)
    # The bytes of the body. None if an earlier version stored it.
    size = BigIntegerField(null=True)

    class Meta:
        indexes = ((("webhook", "id"), False), (("event", "webhook"), True))

    @property
    def finished_attempts(self) -> int:
        return self.attempt_count - (self.lease_token is not None)

    @classmethod
    def schedule(
        cls, event: Event, webhooks: Iterable[Webhook], number_ids: Sequence[str] = ()
    ) -> None:
        """Write one delivery for each webhook that wants the event, inside the caller's transaction.

        ``number_ids`` are the numbers of an event about several. An event that was not stored (Event.append)
        gets no delivery. An inactive webhook gets a skipped one, which can be redelivered later.
        """
        wanting = [
            each for each in webhooks if each.wants(event.kind, event.number_id, *number_ids)
        ]
        if wanting:
            now, size = event.created_at, len(event.sent_payload.encode())
            for webhook in wanting:
                if webhook.active:
                    database.after_commit(doorbells.deliveries.ring)
                _schedule.execute(
                    clock.new_id("dlv"),
                    webhook.id,
                    DeliveryState.PENDING if webhook.active else DeliveryState.SKIPPED,
                    now if webhook.active else None,
                    now,
                    None if webhook.active else now,
                    webhook.active,
                    size,
                    event.id,
                )

    @classmethod
    def emit(
        cls,
        account_id: str,
        kind: str,
        data: Mapping[str, Any],
        *,
        subject_id: str,
        number_ids: Sequence[str],
        at: int | None = None,
    ) -> None:
        """Write an event about these numbers, and its deliveries, inside the caller's transaction."""
        webhooks, number_id = webhooks_of.execute(account_id), number_ids[0]
        event = Event.append(
            account_id, kind, data, number_id=number_id, subject_id=subject_id, at=at
        )
        cls.schedule(event, webhooks, number_ids)

    @classmethod
    def find(cls, delivery_id: str) -> Self | None:
        """The delivery with its event and webhook, or None."""
        query = cls.select(cls, Event, Webhook).join(Event).switch(cls).join(Webhook)
        found = fetch(query.where(cls.id == delivery_id, Webhook.deleted_at.is_null()))
        return found[0] if found else None

    @classmethod
    def of_events(cls, event_ids: Sequence[str]) -> list[Self]:
        """All deliveries of these events with their webhooks, oldest first."""
        query = cls.select(cls, Webhook).join(Webhook)
        query = query.where(cls.event.in_(event_ids), Webhook.deleted_at.is_null())
        return fetch(query.order_by(cls.id))

    @classmethod
    def mine(cls, account_id: str, delivery_ids: Sequence[str]) -> list[Self]:
        """The account's deliveries among these, newest first."""
        query = cls.select().join(Webhook).where(cls.id.in_(delivery_ids))
        ours = query.where(Webhook.account == account_id, Webhook.deleted_at.is_null())
        return fetch(ours.order_by(cls.id.desc()))

    @classmethod
    def is_any_claimed(cls, webhook_id: str) -> bool:
        """Whether an attempt at this webhook is running or about to start."""
        with reading():
            claimed = cls.select().where(cls.webhook == webhook_id, cls.lease_token.is_null(False))
            return bool(claimed.exists())

    @classmethod
    def count_in_flight(cls, webhook_id: str) -> int:
        """The number of attempts at this webhook that are running or about to start."""
        with reading():
            is_running = cls.lease_token.is_null(False) & ~cls.is_idle()
            return int(cls.select().where(cls.webhook == webhook_id, is_running).count())

    @classmethod
    def is_idle(cls) -> Any:
        """The condition that no attempt is running. An expired lease does not count: its worker died."""
        return cls.lease_token.is_null() | (cls.due_at <= database_time(clock.now()))

    @classmethod
    def skip_waiting(cls, webhook_id: str) -> int:
        """Skip a webhook's waiting deliveries, inside the caller's transaction. Running attempts continue.

        At most MOST_SKIPPED. A claim that finds more of an inactive webhook skips them too.
        """
        now = clock.now()
        is_waiting = (cls.webhook == webhook_id) & (cls.state == IS_PENDING) & cls.is_idle()
        waiting = cls.select(cls.id).where(is_waiting).limit(MOST_SKIPPED)
        query = cls.update(
            state=DeliveryState.SKIPPED, due=False, due_at=None, lease_token=None, completed_at=now
        ).where(cls.id.in_(waiting))
        return int(query.execute())

    @exclusively
    def redeliver(self) -> None:
        """Schedule for now, and restart the retry schedule. A waiting delivery becomes due.

        During an attempt, it takes effect only if the attempt fails (models.deliveries.attempt).
        """
        if not self.schedule_anew([self.id], list(DeliveryState), clock.now(), due=True):
            Delivery.update(tries=0).where(Delivery.id == self.id).execute()
        self.__data__.update(Delivery.get_by_id(self.id).__data__)
        database.after_commit(doorbells.deliveries.ring)

    @classmethod
    def schedule_anew(
        cls, delivery_ids: Sequence[str], states: Sequence[str], at: int, *, due: bool = False
    ) -> int:
        """Redeliver those in ``states`` at this time, inside the caller's transaction. Returns how many."""
        query = cls.update(
            state=DeliveryState.PENDING, due=due, tries=0, due_at=at, completed_at=None
        ).where(cls.id.in_(delivery_ids), cls.state.in_(states), cls.lease_token.is_null())
        return int(query.execute())


@Prepared
def _schedule(*slots: Any) -> Any:
    """The delivery with its event, read in one query."""
    *values, event_id = slots
    names = ("id", "webhook", "state", "due_at", "created_at", "completed_at", "due", "size")
    row = dict(zip(names, values, strict=True)) | {"attempt_count": Value(0), "tries": Value(0)}
    row |= {"event": Event.id, "event_kind": Event.kind}
    fields = [getattr(Delivery, name) for name in row]
    return Delivery.insert_from(Event.select(*row.values()).where(Event.id == event_id), fields)


Delivery.add_index(
    Delivery.webhook, Delivery.due_at, where=SQL("state = 'pending'"), name="delivery_pending"
)
Delivery.add_index(Delivery.webhook, where=SQL("lease_token IS NOT NULL"), name="delivery_leased")
Delivery.add_index(Delivery.webhook, Delivery.due_at, where=SQL("due"), name="delivery_due")
Delivery.add_index(Delivery.webhook, where=IS_DUE_AGAIN, name="delivery_due_again")
Delivery.add_index(Delivery.due_at, where=IS_WAITING, name="delivery_waiting")
# A webhook's few failures among its many deliveries. Most deliveries never enter this index.
Delivery.add_index(Delivery.webhook, Delivery.id, where=IS_UNDELIVERED, name="delivery_undelivered")
# The rare event kinds.
Delivery.add_index(Delivery.webhook, Delivery.id, where=IS_RARE, name="delivery_rare")

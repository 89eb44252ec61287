"""Bulk redelivery: deliveries that a request chose and the worker has not scheduled yet (ADR 13).

A request stores the identifiers of the chosen deliveries in batches, in one short transaction. The worker
schedules a part of a batch and removes it from the batch in one transaction. So a kill at any time neither
loses nor doubles a delivery, even if deliveries or the clock change in the meantime.
"""

import json
from collections import Counter
from collections.abc import Sequence

from peewee import ForeignKeyField, TextField, fn

from models import doorbells
from models.accounts.audit import Audit
from models.clock import new_id
from models.database import BaseModel, database, database_now, exclusively, fetch, reading, write
from models.decoded import Decoded
from models.deliveries.delivery import CLAIMS, IS_PENDING, Delivery, DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter
from models.deliveries.webhook import Webhook

MAX_REDELIVERIES = 10_000
BATCH_SIZE = 500
# A webhook with a delivery that has been due for longer gets no more. Otherwise all would go at once later.
BEHIND_MS = 2_000


class Redelivery(BaseModel):
    """One batch. ``delivery_ids`` are oldest first."""

    webhook_id: str
    id = TextField(primary_key=True)
    webhook = ForeignKeyField(Webhook, lazy_load=False, on_delete="CASCADE")
    states_json = TextField()
    delivery_ids_json = TextField()
    delivery_ids: Decoded[list[str]] = Decoded(json.loads, "delivery_ids_json")

    @classmethod
    def request(
        cls, webhook_id: str, *, states: Sequence[str], since: int | None, until: int | None
    ) -> list[str]:
        """Choose the oldest MAX_REDELIVERIES matching deliveries for the worker, and return them."""
        matching = DeliveryFilter([webhook_id], states=states, since=since, until=until)
        # Select outside the write transaction, to keep it short. The worker checks each delivery again.
        with reading():
            waiting = cls.waiting([webhook_id])
            found = matching.oldest_ids(MAX_REDELIVERIES + len(waiting))
        chosen = [i for i in found if i not in waiting][:MAX_REDELIVERIES]
        return cls.record(webhook_id, states, chosen)

    @classmethod
    @exclusively
    def record(cls, webhook_id: str, states: Sequence[str], chosen: list[str]) -> list[str]:
        """Store the chosen deliveries for the worker, and return them: oldest first, without duplicates."""
        if (webhook := Webhook.by_id(webhook_id)) is None:
            # The webhook and its deliveries were deleted in the meantime.
            return []
        for start in range(0, len(chosen), BATCH_SIZE):
            cls.create(
                id=new_id("rdl"),
                webhook=webhook_id,
                states_json=json.dumps(list(states)),
                delivery_ids_json=json.dumps(chosen[start : start + BATCH_SIZE]),
            )
        if chosen:
            after = {"count": len(chosen)}
            Audit.record(webhook.account_id, "deliveries.redelivered", webhook_id, after=after)
            database.after_commit(doorbells.redeliveries.ring)
        return chosen

    @classmethod
    def waiting(cls, webhook_ids: Sequence[str]) -> set[str]:
        """The chosen deliveries of these webhooks that the worker has not scheduled yet."""
        batches = fetch(cls.select().where(cls.webhook.in_(webhook_ids)))
        return {delivery_id for batch in batches for delivery_id in batch.delivery_ids}

    @classmethod
    def before_first_attempt(cls, webhook_id: str, among: Sequence[str]) -> list[str]:
        """The chosen deliveries in ``among`` that have not had their first attempt yet."""
        is_in_first = (Delivery.tries == 1) & Delivery.lease_token.is_null(False)
        is_before = (Delivery.state == DeliveryState.PENDING) & (
            (Delivery.tries == 0) | is_in_first
        )
        with reading():
            # Batches first: the second query finds deliveries that the worker schedules between the two.
            waiting = cls.waiting([webhook_id])
            others = Delivery.id.in_([i for i in among if i not in waiting])
            waiting |= {row.id for row in Delivery.select(Delivery.id).where(others, is_before)}
        return [i for i in among if i in waiting]

    @classmethod
    def states(cls, delivery_ids: Sequence[str]) -> Counter[str]:
        """The number of deliveries by state. Deliveries that were removed in the meantime are not counted."""
        found = Delivery.select(Delivery.state).where(Delivery.id.in_(delivery_ids))
        return Counter(delivery.state for delivery in fetch(found))

    @classmethod
    def has_room(cls, webhook_id: str) -> bool:
        """Whether fewer of the webhook's deliveries wait than one request may choose."""
        with reading():
            batches = cls.select().where(cls.webhook == webhook_id).count()
        return batches * BATCH_SIZE < MAX_REDELIVERIES

    @classmethod
    def webhook_ids(cls) -> list[str]:
        return [batch.webhook_id for batch in fetch(cls.select(cls.webhook).distinct())]

    @classmethod
    def schedule_part(cls, webhook_id: str, rate: int, ahead_ms: int) -> int | None:
        """Schedule one second's share of the webhook after its scheduled deliveries. Returns how many.

        None when no batch is left, ``ahead_ms`` are full, or the webhook is behind. Skips a delivery that has
        left the chosen states: it was delivered again already. A disabled webhook gets nothing.
        """

        def schedule() -> int | None:
            theirs = cls.webhook == webhook_id
            batch = cls.by_id(cls.select(fn.MIN(cls.id)).where(theirs).scalar())
            if batch is None:
                return None
            webhook = Webhook.by_id(webhook_id)
            if webhook is None or not webhook.active:
                cls.delete().where(theirs).execute()
                return None
            now = database_now()
            part, rest = batch.delivery_ids[:rate], batch.delivery_ids[rate:]
            last = _scheduled_until(webhook_id, now, now + ahead_ms)
            if last is None or (at := last + len(part) * 1000 // rate) > now + ahead_ms:
                return None
            if rest:
                cls.update(delivery_ids_json=json.dumps(rest)).where(cls.id == batch.id).execute()
            else:
                batch.delete_instance()
            return Delivery.schedule_anew(part, json.loads(batch.states_json), at)

        return write(schedule, CLAIMS)


def _scheduled_until(webhook_id: str, now: int, latest: int) -> int | None:
    """The time of the webhook's last scheduled redelivery, at most ``latest``. Now if there is none.

    None if the webhook is behind: a delivery has been due for BEHIND_MS.
    """
    is_waiting = (Delivery.webhook == webhook_id) & (Delivery.state == IS_PENDING)
    is_waiting &= Delivery.lease_token.is_null()
    if Delivery.select().where(is_waiting, Delivery.due_at < now - BEHIND_MS).exists():
        return None
    # Only redeliveries wait without a try.
    scheduled = (Delivery.tries == 0) & ~Delivery.due & Delivery.due_at.between(now, latest)
    last = Delivery.select(fn.MAX(Delivery.due_at)).where(is_waiting, scheduled).scalar()
    return now if last is None else int(last)

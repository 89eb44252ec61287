"""Redelivery of many: what a call chose and the worker has still to schedule (ADR 13).

A call writes down the identifiers of what it chose, in batches, in one short transaction. The worker
schedules a part of a batch and takes it out of the batch in one transaction. So a kill at any moment loses
nothing and doubles nothing, also if deliveries or the clock change meanwhile.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from peewee import ForeignKeyField, TextField, fn

from models import clock
from models.clock import new_id
from models.database import BaseModel, reading, write, writing
from models.delivery import CLAIMS, Delivery
from models.webhook import Webhook

MAX_REDELIVERIES = 10_000
BATCH_SIZE = 500
# A webhook with a delivery that is due for longer gets no more. They would go at once when it catches up.
BEHIND_MS = 2_000


class Redelivery(BaseModel):
    """One batch. ``delivery_ids`` are oldest first."""

    webhook_id: str
    id = TextField(primary_key=True)
    webhook = ForeignKeyField(Webhook, lazy_load=False, on_delete="CASCADE")
    states_json = TextField()
    delivery_ids_json = TextField()

    @property
    def delivery_ids(self) -> list[str]:
        return list(json.loads(self.delivery_ids_json))

    @classmethod
    def choose(cls, webhook_id: str, **which: Any) -> list[str]:
        """What a call would choose of what matches (Delivery.matching) and was not chosen before."""
        with reading():
            chosen = cls.waiting([webhook_id])
            found = Delivery.matching(webhook_id, **which, limit=MAX_REDELIVERIES + len(chosen))
        return [i for i in found if i not in chosen][:MAX_REDELIVERIES]

    @classmethod
    def request(cls, webhook_id: str, *, states: Sequence[str], **which: Any) -> list[str]:
        """Choose deliveries for the worker, and return them: the oldest MAX_REDELIVERIES that match."""
        # Chosen outside the write transaction, which it would make long: the worker looks again.
        return cls.keep(webhook_id, states, cls.choose(webhook_id, states=states, **which))

    @classmethod
    def keep(cls, webhook_id: str, states: Sequence[str], chosen: list[str]) -> list[str]:
        """Write down for the worker what was chosen, and return it: oldest first, each once."""
        with writing():
            if Webhook.by_id(webhook_id) is None:
                # It was deleted meanwhile, and its deliveries with it.
                return []
            for start in range(0, len(chosen), BATCH_SIZE):
                cls.create(
                    id=new_id("rdl"),
                    webhook=webhook_id,
                    states_json=json.dumps(list(states)),
                    delivery_ids_json=json.dumps(chosen[start : start + BATCH_SIZE]),
                )
        return chosen

    @classmethod
    def waiting(cls, webhook_ids: Sequence[str]) -> set[str]:
        """What calls chose of these webhooks and the worker has not scheduled yet."""
        with reading():
            batches = cls.select().where(cls.webhook.in_(webhook_ids))
            return {delivery_id for batch in batches for delivery_id in batch.delivery_ids}

    @classmethod
    def before_first_attempt(cls, webhook_id: str, among: Sequence[str]) -> list[str]:
        """Those of ``among``, which were chosen, that have not had their first attempt yet."""
        with reading():
            # First the batches: one that is worked off between the two queries is found by the second.
            waiting = cls.waiting([webhook_id])
            waiting |= Delivery.before_first_attempt([i for i in among if i not in waiting])
        return [i for i in among if i in waiting]

    @classmethod
    def states(cls, delivery_ids: Sequence[str]) -> Counter[str]:
        """How many of the deliveries are in each state. What was removed meanwhile is in none."""
        with reading():
            found = Delivery.select(Delivery.state).where(Delivery.id.in_(delivery_ids))
            return Counter(delivery.state for delivery in found)

    @classmethod
    def has_room(cls, webhook_id: str) -> bool:
        """Whether fewer of the webhook's deliveries wait than one call may choose."""
        with reading():
            batches = cls.select().where(cls.webhook == webhook_id).count()
        return batches * BATCH_SIZE < MAX_REDELIVERIES

    @classmethod
    def webhook_ids(cls) -> list[str]:
        with reading():
            return [batch.webhook_id for batch in cls.select(cls.webhook).distinct()]

    @classmethod
    def schedule_part(cls, webhook_id: str, rate: int, ahead_ms: int) -> int | None:
        """Schedule what the webhook gets in a second, after all that is scheduled. Returns how many.

        None when no batch is left, ``ahead_ms`` are full, or the webhook is behind. A delivery that left the
        chosen states meanwhile was delivered again already, and an inactive webhook gets nothing.
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
            now = clock.shared_now()
            part, rest = batch.delivery_ids[:rate], batch.delivery_ids[rate:]
            last = Delivery.redelivered_until(webhook_id, now, now + ahead_ms)
            at = last + len(part) * 1000 // rate
            if at > now + ahead_ms or Delivery.is_behind(webhook_id, now - BEHIND_MS):
                return None
            if rest:
                cls.update(delivery_ids_json=json.dumps(rest)).where(cls.id == batch.id).execute()
            else:
                batch.delete_instance()
            return Delivery.schedule_anew(part, json.loads(batch.states_json), at)

        return write(schedule, CLAIMS)

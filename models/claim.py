"""Claiming due deliveries (design, section 2.3). What comes of them is recorded by models.recording."""

import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import PostgresqlDatabase, Select, fn

from models import clock
from models.database import Prepared, database, reading, write
from models.database.prepared_list import PreparedList
from models.delivery import IS_PENDING, Delivery
from models.event import Event
from models.webhook import Webhook

# What claims and outcomes work on (models.database.write): the deliveries that are due or leased. One
# transaction at a time keeps each webhook's cap; both come in batches.
CLAIMS = "claims"


@dataclass(frozen=True)
class ClaimedDelivery:
    """All that one attempt needs. ``attempt_number`` is 1 for the first one."""

    delivery_id: str
    lease_token: str
    attempt_number: int
    webhook: Webhook
    # Whether the claim took as many as the webhook had room for, so that more may be due.
    fills_webhook: bool
    event_kind: str
    payload: str
    event_id: str
    # The message or number that the event is about.
    subject_id: str
    created_at: int


def _pending(alias: Any) -> Any:
    return alias.state == IS_PENDING


def _due_webhooks(now: Any, slow: Any, per_webhook: Any, limit: Any) -> Any:
    """Webhooks of a lane, below their cap, with a due delivery; the one that waits longest first.

    Walks the partial index from webhook to webhook, so that the cost depends on how many webhooks
    wait, not on how many deliveries.
    """
    later, oldest = Delivery.alias(), Delivery.alias()
    walk = (
        Delivery.select(fn.MIN(Delivery.webhook).alias("webhook_id"))
        .where(_pending(Delivery))
        .cte("walk", recursive=True, columns=("webhook_id",))
    )
    following = later.select(fn.MIN(later.webhook)).where(
        _pending(later), later.webhook > walk.c.webhook_id
    )
    step = Select([walk], [following]).where(walk.c.webhook_id.is_null(False))
    waiting = walk.union_all(step)
    due = oldest.select(fn.MIN(oldest.next_attempt_at)).where(
        _pending(oldest), oldest.webhook == waiting.c.webhook_id
    )
    return (
        Select([waiting], [waiting.c.webhook_id, due.alias("due")])
        .where(
            waiting.c.webhook_id.is_null(False),
            due <= now,
            Webhook.select(Webhook.slow).where(Webhook.id == waiting.c.webhook_id) == slow,
            # Webhooks that hang would else take up the limit, for as long as they hang.
            _in_flight(waiting.c.webhook_id, now) < per_webhook,
        )
        .order_by(due)
        .limit(limit)
        .with_cte(waiting)
    )


def _in_flight(webhook_id: Any, now: Any) -> Select:
    leased = Delivery.alias()
    return leased.select(fn.COUNT(leased.id)).where(
        leased.webhook == webhook_id,
        leased.lease_token.is_null(False),
        leased.next_attempt_at > now,
    )


def _lease(webhook_id: Any, token: Any, now: Any, until: Any, room: Any) -> Any:
    """Claim up to ``room`` due deliveries of a webhook by one conditional UPDATE. Returns their ids."""
    oldest = (
        Delivery.select(Delivery.id)
        .where(Delivery.webhook == webhook_id, _pending(Delivery), Delivery.next_attempt_at <= now)
        .order_by(Delivery.next_attempt_at)
        .limit(room)
    )
    # PostgreSQL may run a subquery behind IN once for each due row, but one that makes an array once.
    on_postgresql = isinstance(database.obj, PostgresqlDatabase)
    chosen = Delivery.id == fn.ANY(fn.ARRAY(oldest)) if on_postgresql else Delivery.id.in_(oldest)
    # Only pending ones have a next attempt. The sum keeps PostgreSQL from looking at all that are due
    # instead of those that were chosen, which it takes for more as long as few are due.
    still_due = Delivery.next_attempt_at + 0 <= now
    update = Delivery.update(lease_token=token, next_attempt_at=until)
    return update.where(chosen, still_due).returning(Delivery.id)


def _details(delivery_ids: Any) -> Any:
    return (
        Delivery.select(
            Delivery.id,
            Delivery.attempt_count,
            Delivery.webhook,
            Delivery.event_kind,
            Event.payload,
            Event.id,
            Event.subject_id,
            Delivery.created_at,
        )
        .join(Event)
        .where(Delivery.id.in_(delivery_ids))
        .order_by(Delivery.id)
    )


_DUE_WEBHOOKS = Prepared(_due_webhooks)
_IN_FLIGHT = Prepared(_in_flight)
_LEASE = Prepared(_lease)
_DETAILS = PreparedList(_details)


@dataclass(frozen=True)
class _Claim:
    """One claim, inside its transaction. What needs no answer of the other is asked for together."""

    token: str
    now: int
    until: int

    def lease(self, free: Mapping[str, int], room: int) -> tuple[list[str], set[str]]:
        """Claim up to ``room`` deliveries, of each webhook as many as it has free.

        Returns their identifiers, and the webhooks that took as many as they might.
        """
        claimed: list[str] = []
        full: set[str] = set()
        waiting = deque((webhook_id, count) for webhook_id, count in free.items() if count > 0)
        # Who had less due than was free leaves room for those behind.
        while waiting and (left := room - len(claimed)) > 0:
            asked = []
            while waiting and left > 0:
                webhook_id, count = waiting.popleft()
                wanted = min(count, left)
                left -= wanted
                leased = _LEASE.tuples_soon(webhook_id, self.token, self.now, self.until, wanted)
                asked.append((webhook_id, wanted, leased))
            for webhook_id, wanted, leased in asked:
                ids = [row[0] for row in leased()]
                claimed += ids
                if len(ids) == wanted:
                    full.add(webhook_id)
        return claimed, full

    def make(
        self, webhook_ids: Sequence[str], room: int, per_webhook: int
    ) -> Callable[[], list[ClaimedDelivery]]:
        """Claim. What was claimed comes with the commit."""
        asked = {id_: _IN_FLIGHT.tuples_soon(id_, self.now) for id_ in webhook_ids}
        found = Webhook.soon_of_ids(webhook_ids)
        free = {id_: per_webhook - in_flight()[0][0] for id_, in_flight in asked.items()}
        # Many deliveries, few webhooks: each is read once.
        webhooks = {webhook.id: webhook for webhook in found()}
        claimed, full = self.lease(free, room)
        if not claimed:
            return list
        details = _DETAILS.tuples_soon(claimed)
        return lambda: [
            ClaimedDelivery(
                id_, self.token, attempts + 1, webhooks[webhook], webhook in full, *rest
            )
            for id_, attempts, webhook, *rest in details()
        ]


def claim_due(
    room: int, per_webhook: int, lease_ms: int, *, slow: bool = False
) -> list[ClaimedDelivery]:
    """Claim up to ``room`` due deliveries, at most ``per_webhook`` in flight for each webhook.

    Those of slow webhooks are claimed apart from the others.
    """
    now = clock.now()
    claim = _Claim(uuid.uuid4().hex, now, now + lease_ms)
    # One connection for both: on PostgreSQL taking one out of the pool costs as much as a query.
    with reading():
        webhook_ids = [row[0] for row in _DUE_WEBHOOKS.tuples(now, slow, per_webhook, room)]
        if not webhook_ids:
            return []
        claimed = write(lambda: claim.make(webhook_ids, room, per_webhook), CLAIMS)
        return claimed()

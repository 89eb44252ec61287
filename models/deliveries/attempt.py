"""Attempts: the result of each request to an endpoint, and what it changes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import log2
from typing import Any, Self

from peewee import (
    BigIntegerField,
    BooleanField,
    CompositeKey,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from models import clock
from models.accounts.audit import Audit
from models.database import BaseModel, Prepared, adding, database_time, fetch, is_in, write, writing
from models.deliveries.delivery import CLAIMS, Delivery, DeliveryState
from models.deliveries.webhook import Deactivation, Webhook, note_slow, note_success

# A delivery that is redelivered often has many attempts. The API returns the newest ones.
MOST_SHOWN = 100
# A receiver is slow when one response takes this long, in ms (ADR 10).
SLOW_MS = 2_000

NO_OUTCOME = "The result is unknown: the worker died or froze during this attempt."

RetryDelay = Callable[[int], float | None]


@dataclass(frozen=True)
class Outcome:
    """The result of one attempt. Times in milliseconds. ``status_code`` is None without a response.

    ``proven_url`` is the url of a webhook on trial that responded with 2xx.
    """

    delivery_id: str
    lease_token: str
    started_at: int
    duration_ms: int
    success: bool
    status_code: int | None = None
    error: str | None = None
    response_body: str | None = None
    timed_out: bool = False
    proven_url: str | None = None
    # For how long the receiver asks to get no new events.
    rest_ms: int = 0
    # Whether it was a probe during such a time, and got 2xx.
    ends_rest: bool = False
    # Whether its response disables the webhook.
    is_end: bool = False
    # Whether its failure counts for the webhook. Of a request with several events one does.
    is_counted: bool = True
    # The seconds until the retry, the same for all events of a request. None for those of the schedule.
    retry_seconds: float | None = None

    @property
    def is_slow(self) -> bool:
        return self.timed_out or self.duration_ms >= SLOW_MS


class Attempt(BaseModel):
    delivery_id: str
    id = TextField(primary_key=True)
    delivery = ForeignKeyField(Delivery, lazy_load=False, on_delete="CASCADE")
    number = IntegerField()
    started_at = BigIntegerField()
    duration_ms = IntegerField()
    success = BooleanField()
    status_code = IntegerField(null=True)
    error = TextField(null=True)
    response_body = TextField(null=True)

    @classmethod
    def append(cls, outcome: Outcome, number: int) -> None:
        """Store the result of attempt ``number``, inside the caller's transaction."""
        names = ("started_at", "duration_ms", "success", "status_code", "error", "response_body")
        kept = {name: getattr(outcome, name) for name in names}
        cls.create(id=clock.new_id("att"), delivery=outcome.delivery_id, number=number, **kept)

    @classmethod
    def of(cls, delivery: Delivery) -> list[Self]:
        """The last ``MOST_SHOWN`` attempts of a delivery, oldest first."""
        newest_first = cls.select().where(cls.delivery == delivery.id).order_by(cls.id.desc())
        return fetch(newest_first.limit(MOST_SHOWN))[::-1]


# Two buckets per power of two. The last one ends above 10 s, the default DELIVERY_TIMEOUT.
BUCKETS = tuple(f"bucket_{number}" for number in range(28))
# The results of attempts that are counted, and the length of each counted period in ms.
ENDS = ("delivered", "retried", "failed")
WIDTHS = NARROW, WIDE = 300_000, 3_600_000


class AttemptTotal(BaseModel):
    """The results of the attempts at a webhook in the period of ``width`` ms from ``start``.

    ``retried`` counts those that failed while their delivery has attempts left, ``failed`` the last ones.
    Each bucket counts responses and timeouts by their duration (``bucket_of``). An attempt that got no
    connection is in no bucket. Rows of the NARROW width are kept for two hours.
    """

    webhook = ForeignKeyField(Webhook, lazy_load=False, index=False, on_delete="CASCADE")
    width = IntegerField()
    start = BigIntegerField()

    class Meta:
        primary_key = CompositeKey("webhook", "width", "start")
        indexes = ((("width", "start"), False),)

    @classmethod
    def add(cls, ended: Iterable[tuple[str, Outcome, str]], now: int) -> None:
        """Count attempts by webhook, inside the caller's transaction: webhook, outcome and one of ENDS."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for webhook_id, outcome, end in ended:
            counts[webhook_id][end] += 1
            if outcome.timed_out or outcome.status_code is not None:
                counts[webhook_id][bucket_of(outcome.duration_ms)] += 1
        for webhook_id, count in counts.items():
            values = [count[name] for name in (*ENDS, *BUCKETS)]
            for width in WIDTHS:
                _ADD.execute(webhook_id, width, now - now % width, *values)


for _name in (*ENDS, *BUCKETS):
    AttemptTotal._meta.add_field(_name, IntegerField())  # noqa: SLF001 - peewee's documented attribute
_ADD = adding(AttemptTotal, *ENDS, *BUCKETS)


def bucket_of(duration_ms: int) -> str:
    """The bucket of a duration: number ``n`` ends at 2 to the power of (n + 1) / 2 milliseconds."""
    return BUCKETS[min(len(BUCKETS) - 1, int(2 * log2(max(1, duration_ms))))]


@Prepared
def end_attempts(delivery_ids: Any, state: Any, due_at: Any, completed_at: Any) -> Any:
    """End the leases of these deliveries with this state."""
    return Delivery.update(
        state=state, due_at=due_at, lease_token=None, completed_at=completed_at
    ).where(is_in(Delivery.id, delivery_ids))


_OF_IDS = Prepared(lambda ids: Delivery.select().where(is_in(Delivery.id, ids)), Delivery)
# A delivery that continues, or that was skipped after this attempt, counts as retried.
_ENDS = {DeliveryState.DELIVERED: "delivered", DeliveryState.FAILED: "failed"}
# The active webhooks among these, and the time by which work is claimed.
_ACTIVE = Prepared(
    lambda ids, now: Webhook.select(Webhook.id, database_time(now)).where(
        is_in(Webhook.id, ids), Webhook.active
    )
)


def record_outcomes(
    outcomes: Iterable[Outcome], retry_delay: RetryDelay, deactivate_after: int
) -> Counter[str]:
    """Record finished attempts in one transaction. Returns the number of deliveries by their new state.

    ``retry_delay`` returns the seconds until the next attempt for a number of tries, or None after the last.
    An outcome whose lease was taken over is dropped: another worker has the delivery.
    """
    finished = {outcome.delivery_id: outcome for outcome in outcomes}

    def record() -> Counter[str]:
        rows, now = _OF_IDS.execute(list(finished)), clock.now()
        leased = {row.id: row for row in rows if row.lease_token == finished[row.id].lease_token}
        ours = [(outcome, leased[id_]) for id_, outcome in finished.items() if id_ in leased]
        troubled = [delivery.webhook_id for outcome, delivery in ours if not outcome.success]
        active = dict(_ACTIVE.execute(troubled, now)) if troubled else {}
        ends: dict[tuple[str, int | None], list[Delivery]] = defaultdict(list)
        ended: list[tuple[str, Outcome, str]] = []
        for outcome, delivery in ours:
            Attempt.append(outcome, delivery.attempt_count)
            if outcome.proven_url is not None:
                Webhook.end_trial(delivery.webhook_id, outcome.proven_url)
            end = _end_of(outcome, delivery, retry_delay, active)
            ends[end].append(delivery)
            ended.append((delivery.webhook_id, outcome, _ENDS.get(end[0], "retried")))
        AttemptTotal.add(ended, now)
        _note_rests(ours, active, now)
        states: Counter[str] = Counter()
        for (state, due_at), deliveries in ends.items():
            end_attempts.execute([d.id for d in deliveries], state, due_at, None if due_at else now)
            states[state] += len(deliveries)
        # Attempts at one webhook run concurrently, so their order in a batch means nothing: successes first.
        note_success.execute([d.webhook_id for d in ends[DeliveryState.DELIVERED, None]])
        if slow := [delivery.webhook_id for outcome, delivery in ours if outcome.is_slow]:
            note_slow.execute(slow)
        for delivery in ends[DeliveryState.FAILED, None]:
            is_counted = finished[delivery.id].is_counted
            if is_counted and Webhook.note_discarded(delivery.webhook_id) >= deactivate_after:
                _disable(delivery.webhook_id, Deactivation.FAILURES)
        for webhook_id in {delivery.webhook_id for outcome, delivery in ours if outcome.is_end}:
            _disable(webhook_id, Deactivation.GONE)
        return states

    return write(record, CLAIMS)


def _note_rests(
    ended: Iterable[tuple[Outcome, Delivery]], active: Mapping[str, int], now: int
) -> None:
    """Store until when receivers ask to get no new events: the longest time, or none after a probe."""
    rests: dict[str, int] = {}
    for outcome, delivery in ended:
        if outcome.ends_rest or outcome.rest_ms:
            rests[delivery.webhook_id] = max(rests.get(delivery.webhook_id, 0), outcome.rest_ms)
    for webhook_id, rest_ms in rests.items():
        until = active.get(webhook_id, now) + rest_ms
        Webhook.rest(webhook_id, until if rest_ms else None)


def _end_of(
    outcome: Outcome, delivery: Delivery, retry_delay: RetryDelay, active: Mapping[str, int]
) -> tuple[DeliveryState, int | None]:
    """The state of a delivery after an attempt, and the time of its next attempt or None."""
    if outcome.success:
        return DeliveryState.DELIVERED, None
    delay = outcome.retry_seconds
    if not delivery.tries:
        # It was redelivered during this attempt.
        delay = 0
    elif delay is None and (delay := retry_delay(delivery.tries)) is None:
        return DeliveryState.FAILED, None
    # The webhook may have been disabled during this attempt.
    if (now := active.get(delivery.webhook_id)) is None:
        return DeliveryState.SKIPPED, None
    return DeliveryState.PENDING, now + round(delay * 1000)


def _disable(webhook_id: str, because: Deactivation) -> None:
    # Exclude transactions that schedule deliveries for the webhook while they see it as active.
    with writing():
        webhook = Webhook.get_by_id(webhook_id)
        if webhook.active:
            Audit.record(
                webhook.account_id, "webhook.disabled", webhook.id, after={"because": because}
            )
        webhook.deactivate(because)
        Delivery.skip_waiting(webhook_id)

"""Attempts: what each request to a receiver was answered, and what comes of it (design, section 2.3)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from models import clock
from models.clock import new_id
from models.database import BaseModel, Prepared, is_in, reading, write, writing
from models.delivery import CLAIMS, Delivery, DeliveryState
from models.webhook import Deactivation, Webhook

# A delivery that is redelivered again and again has any number of attempts; a response has a bound.
MOST_SHOWN = 100
# A receiver that takes so long for one answer is slow (ADR 10).
SLOW_MS = 2_000

NO_OUTCOME = "No outcome is known: the worker ended or froze during this attempt."

RetryDelay = Callable[[int], float | None]


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt. Times in milliseconds; ``status_code`` is None when no answer came.

    ``proven_url`` is the url of a webhook on trial that answered 2xx.
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
        """Keep what came of attempt ``number``, inside the caller's transaction."""
        names = ("started_at", "duration_ms", "success", "status_code", "error", "response_body")
        kept = {name: getattr(outcome, name) for name in names}
        cls.create(id=new_id("att"), delivery=outcome.delivery_id, number=number, **kept)

    @classmethod
    def of(cls, delivery: Delivery) -> list[Self]:
        """The last ``MOST_SHOWN`` attempts of a delivery, oldest first."""
        newest_first = cls.select().where(cls.delivery == delivery.id).order_by(cls.id.desc())
        with reading():
            return list(newest_first.limit(MOST_SHOWN))[::-1]


@Prepared
def _deliver(delivery_ids: Any, at: Any) -> Any:
    return Delivery.update(
        state=DeliveryState.DELIVERED, next_attempt_at=None, lease_token=None, completed_at=at
    ).where(is_in(Delivery.id, delivery_ids))


_OF_IDS = Prepared(lambda ids: Delivery.select().where(is_in(Delivery.id, ids)), Delivery)


def record_outcomes(
    outcomes: Iterable[Outcome], retry_delay: RetryDelay, deactivate_after: int
) -> list[int]:
    """Record finished attempts in one transaction. Returns when the failed ones are due again.

    ``retry_delay`` gives the seconds until the next attempt after so many tries, or None when there is
    none. An outcome whose lease was taken over is dropped: its delivery is another worker's.
    """
    finished = {outcome.delivery_id: outcome for outcome in outcomes}

    def record() -> list[int | None]:
        rows = _OF_IDS.execute(list(finished))
        leased = {row.id: row for row in rows if row.lease_token == finished[row.id].lease_token}
        ours = [(outcome, leased[id_]) for id_, outcome in finished.items() if id_ in leased]
        for outcome, delivery in ours:
            Attempt.append(outcome, delivery.attempt_count)
            if outcome.proven_url is not None:
                Webhook.end_trial(delivery.webhook_id, outcome.proven_url)
        # Where a receiver failed or was slow, its outcomes count in their order; else nothing depends on it.
        troubled = {d.webhook_id for outcome, d in ours if not outcome.success or _is_slow(outcome)}
        if smooth := [d for _, d in ours if d.webhook_id not in troubled]:
            _deliver.execute([delivery.id for delivery in smooth], clock.now())
            Webhook.note_success({delivery.webhook_id for delivery in smooth})
        return [
            _record(outcome, delivery, retry_delay, deactivate_after)
            for outcome, delivery in ours
            if delivery.webhook_id in troubled
        ]

    return [at for at in write(record, CLAIMS) if at is not None]


def _record(
    outcome: Outcome, delivery: Delivery, retry_delay: RetryDelay, deactivate_after: int
) -> int | None:
    """Returns when the delivery is due again, None if it has come to its end."""
    state, due_at = DeliveryState.DELIVERED, None
    if not outcome.success:
        state, due_at = _after_failure(delivery, retry_delay(delivery.tries))
    Delivery.update(
        state=state,
        next_attempt_at=due_at,
        lease_token=None,
        completed_at=None if due_at else clock.now(),
    ).where(Delivery.id == delivery.id).execute()
    if state is DeliveryState.DELIVERED:
        Webhook.note_success([delivery.webhook_id])
    elif state is DeliveryState.FAILED and (
        Webhook.note_discarded(delivery.webhook_id) >= deactivate_after
    ):
        # Not beside a transaction that schedules deliveries for a webhook that it takes for active.
        with writing():
            Webhook.get_by_id(delivery.webhook_id).deactivate(Deactivation.FAILURES)
            Delivery.skip_waiting(delivery.webhook_id)
    if _is_slow(outcome):
        Webhook.note_slow(delivery.webhook_id)
    return due_at


def _is_slow(outcome: Outcome) -> bool:
    return outcome.timed_out or outcome.duration_ms >= SLOW_MS


def _after_failure(delivery: Delivery, delay: float | None) -> tuple[DeliveryState, int | None]:
    """The state of a delivery whose attempt failed, and when it is due again, if it is."""
    if delay is None:
        return DeliveryState.FAILED, None
    # The webhook may have been switched off while this attempt was under way.
    if not Webhook.select(Webhook.active).where(Webhook.id == delivery.webhook_id).scalar():
        return DeliveryState.SKIPPED, None
    return DeliveryState.PENDING, clock.shared_now() + round(delay * 1000)

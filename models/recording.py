"""Recording what came of the attempts at claimed deliveries (design, section 2.3; models.claim)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from models import clock, work
from models.attempt import Attempt, Outcome
from models.claim import CLAIMS
from models.database import Prepared, is_in, reading, write, writing
from models.delivery import Delivery, DeliveryState
from models.webhook import Deactivation, Webhook

# A receiver that takes so long for one answer is slow (tasks.lanes).
SLOW_MS = 2_000

RetryDelay = Callable[[int], float | None]


class _Leased(NamedTuple):
    """What recording an outcome needs of its delivery."""

    id: str
    webhook_id: str
    attempt_count: int
    tries: int
    token: str | None
    now: int


def _leases(now: Any, delivery_ids: Any) -> Any:
    wanted = (Delivery.id, Delivery.webhook, Delivery.attempt_count, Delivery.tries)
    return Delivery.select(*wanted, Delivery.lease_token, work.time(now)).where(
        is_in(Delivery.id, delivery_ids)
    )


def _deliver(delivery_ids: Any, at: Any) -> Any:
    return Delivery.update(
        state=DeliveryState.DELIVERED,
        next_attempt_at=None,
        lease_token=None,
        completed_at=at,
    ).where(is_in(Delivery.id, delivery_ids))


def _wanted(delivery_id: Any, token: Any) -> Any:
    held = (Delivery.id == delivery_id) & (Delivery.lease_token == token)
    return Delivery.select(Delivery.id).join(Webhook).where(held, Webhook.active)


_WANTED = Prepared(_wanted)
_LEASES = Prepared(_leases)
_DELIVER = Prepared(_deliver)


def record_outcomes(
    outcomes: Iterable[Outcome], retry_delay: RetryDelay, deactivate_after: int
) -> list[int]:
    """Record finished attempts in one transaction. Returns when the failed ones are due again.

    ``retry_delay`` gives the seconds until the next attempt after so many tries, or None when there is
    none. An outcome whose lease was taken over is dropped: its delivery is another worker's.
    """
    finished = list(outcomes)
    if not finished:
        return []

    def record() -> list[int | None]:
        ours = _still_ours(finished)
        Attempt.append_all([(outcome, delivery.attempt_count) for outcome, delivery in ours])
        # Where a receiver failed or was slow, its outcomes count in their order; else nothing depends on it.
        troubled = {
            delivery.webhook_id
            for outcome, delivery in ours
            if not outcome.success or _is_slow(outcome)
        }
        for outcome, delivery in ours:
            if outcome.proven_url is not None:
                Webhook.end_trial(delivery.webhook_id, outcome.proven_url)
        smooth = [delivery for _, delivery in ours if delivery.webhook_id not in troubled]
        if smooth:
            _record_successes(smooth)
        return [
            _record(outcome, delivery, retry_delay, deactivate_after)
            for outcome, delivery in ours
            if delivery.webhook_id in troubled
        ]

    return [at for at in write(record, CLAIMS) if at is not None]


def is_wanted(delivery_id: str, token: str) -> bool:
    """Whether a claim still holds, and the webhook is active."""
    with reading():
        return _WANTED.execute(delivery_id, token).first() is not None


def give_back(delivery_id: str, token: str) -> None:
    """Undo a claim whose attempt was not begun. It is as if it had never been claimed."""

    def undo() -> None:
        given_back = Delivery.update(
            due=True,
            lease_token=None,
            next_attempt_at=clock.now(),
            tries=Delivery.tries - 1,
            attempt_count=Delivery.attempt_count - 1,
        )
        given_back.where(Delivery.id == delivery_id, Delivery.lease_token == token).execute()

    write(undo, CLAIMS)


def _still_ours(outcomes: Sequence[Outcome]) -> list[tuple[Outcome, _Leased]]:
    """The outcomes whose lease still holds, in their order, with their deliveries."""
    wanted = {outcome.delivery_id: outcome for outcome in outcomes}
    found = {row[0]: _Leased(*row) for row in _LEASES.execute(clock.now(), list(wanted))}
    pairs = [(outcome, found.get(id_)) for id_, outcome in wanted.items()]
    return [(o, row) for o, row in pairs if row is not None and row.token == o.lease_token]


def _record_successes(deliveries: Sequence[_Leased]) -> None:
    _DELIVER.execute([delivery.id for delivery in deliveries], clock.now())
    Webhook.note_success({delivery.webhook_id for delivery in deliveries})


def _record(
    outcome: Outcome, delivery: _Leased, retry_delay: RetryDelay, deactivate_after: int
) -> int | None:
    delay = None if outcome.success else retry_delay(delivery.tries)
    next_attempt_at = None if delay is None else delivery.now + round(delay * 1000)
    state = _next_state(delivery, outcome, next_attempt_at)
    if state is not DeliveryState.PENDING:
        next_attempt_at = None
    Delivery.update(
        state=state,
        next_attempt_at=next_attempt_at,
        lease_token=None,
        completed_at=None if next_attempt_at else clock.now(),
    ).where(Delivery.id == delivery.id).execute()
    _count_failures(delivery.webhook_id, state, deactivate_after)
    if _is_slow(outcome):
        Webhook.note_slow(delivery.webhook_id)
    return next_attempt_at


def _is_slow(outcome: Outcome) -> bool:
    return outcome.timed_out or outcome.duration_ms >= SLOW_MS


def _next_state(delivery: _Leased, outcome: Outcome, next_attempt_at: int | None) -> DeliveryState:
    if outcome.success:
        return DeliveryState.DELIVERED
    if next_attempt_at is None:
        return DeliveryState.FAILED
    # The webhook may have been switched off while this attempt was under way.
    active = Webhook.select(Webhook.active).where(Webhook.id == delivery.webhook_id).scalar()
    return DeliveryState.PENDING if active else DeliveryState.SKIPPED


def _count_failures(webhook_id: str, state: DeliveryState, deactivate_after: int) -> None:
    """Keep the webhook's count of discarded events in a row, and deactivate it when there are too many."""
    if state is DeliveryState.DELIVERED:
        Webhook.note_success([webhook_id])
    elif state is DeliveryState.FAILED and Webhook.note_discarded(webhook_id) >= deactivate_after:
        # Not beside a transaction that schedules deliveries for a webhook that it takes for active.
        with writing():
            Webhook.get_by_id(webhook_id).deactivate(Deactivation.FAILURES)
            Delivery.skip_waiting(webhook_id)

"""The causes of a webhook's recent failures, one line for each cause."""

from collections import Counter
from dataclasses import dataclass

from models.deliveries.attempt import Attempt
from models.deliveries.delivery import DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter, answer_of, last_attempts

# The number of newest deliveries of each state that are counted.
MOST = 200


@dataclass(frozen=True)
class Cause:
    """The deliveries whose last attempt has this status and error, and the newest such attempt.

    ``answer`` is the class of the status: the filter of the list of deliveries.
    """

    status_code: int | None
    error: str | None
    count: int
    newest: Attempt
    answer: str


def causes_of(webhook_id: str) -> list[Cause]:
    """The causes of the newest failed and pending deliveries, most frequent first."""
    rows = [
        row
        for state in (DeliveryState.FAILED, DeliveryState.PENDING)
        for row in DeliveryFilter([webhook_id], states=[state]).newest(MOST).rows
    ]
    failed = [attempt for attempt in last_attempts(rows).values() if not attempt.success]
    counts = Counter((attempt.status_code, attempt.error) for attempt in failed)
    newest = {
        (attempt.status_code, attempt.error): attempt
        for attempt in sorted(failed, key=lambda attempt: attempt.id)
    }
    return [
        Cause(*cause, count, newest[cause], answer_of(newest[cause]))
        for cause, count in counts.most_common()
    ]

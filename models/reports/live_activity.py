"""Attempts and notices since the last poll, for the dashboard's Live page.

Transactions do not commit in the order of their identifiers, and clocks of hosts differ a little. So each
poll goes back some seconds and leaves out rows that an earlier poll returned.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from models import clock
from models.database import Prepared, is_in, reading
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery
from models.deliveries.webhook import Webhook
from models.numbers.notice import Notice
from models.numbers.number import Number

# Seconds to go back. A row that is committed later than this after its identifier was made may be missed.
LOOK_BACK_MS = 3_000
# The most that the clock of another host may be ahead.
AHEAD_MS = 600_000
# The most identifiers that one poll reads. With more of them, polls do not go back.
MOST = 10_000
Row = TypeVar("Row")


class RecordedAttempt(NamedTuple):
    """An attempt with its delivery's event kind and its webhook's url. Times in milliseconds."""

    account_id: str
    id: str
    delivery_id: str
    event_kind: str
    url: str
    number: int
    ended_at: int
    duration_ms: int
    success: bool
    status_code: int | None
    error: str | None


class Latest:
    """Polls the new rows of a model. ``prefix`` is that of their identifiers."""

    def __init__(self, model: type[Attempt | Notice], prefix: str) -> None:
        self._newer = Prepared(
            lambda after: (
                model.select(model.id).where(model.id > after).order_by(model.id).limit(MOST)
            )
        )
        self._prefix = prefix
        self._after = clock.id_bound(prefix, clock.now())
        self._seen: set[str] = set()

    def read(self, rows: Callable[[list[str]], list[Row]]) -> list[Row]:
        """Calls ``rows`` with the new identifiers. If it raises, the next poll repeats them."""
        now = clock.now()
        bound = clock.id_bound(self._prefix, now - LOOK_BACK_MS)
        if self._after > clock.id_bound(self._prefix, now + AHEAD_MS):
            # The clock was set back.
            self._after = bound
        with reading():
            found = [key for (key,) in self._newer.execute(self._after)]
            new = [key for key in found if key not in self._seen]
            made = rows(new) if new else []
        self._after = found[-1] if len(found) == MOST else max(self._after, bound)
        self._seen = {key for key in found if key > self._after}
        return made


def recorded_attempts(
    attempt_ids: list[str], account_ids: Collection[str]
) -> list[RecordedAttempt]:
    """The attempts of these accounts among the identifiers, oldest first."""
    # The query has no condition on the account: PostgreSQL might start with all deliveries of its webhooks.
    rows = [row for deleted_at, *row in _attempts.execute(attempt_ids) if not deleted_at]
    found = [RecordedAttempt(*row) for row in rows if row[0] in account_ids]
    return sorted(found, key=lambda row: row.id)


def recorded_notices(
    notice_ids: list[str], account_ids: Collection[str]
) -> list[tuple[Notice, Number]]:
    """The notices among the identifiers, oldest first, each with one number of each of these accounts.

    That is a number whose page shows it: its own, or for a business account the first one.
    """
    notices = list(Notice.select().where(Notice.id.in_(notice_ids)).order_by(Notice.id))
    numbers = Number.select(Number.id, Number.account, Number.waba_id, Number.phone_number).where(
        Number.waba_id.in_({notice.waba_id for notice in notices}), Number.account.in_(account_ids)
    )
    ours = sorted(numbers, key=lambda number: number.id)
    found: dict[tuple[str, str], tuple[Notice, Number]] = {}
    for notice in notices:
        for number in ours:
            if number.waba_id == notice.waba_id and notice.number_id in {None, number.id}:
                found.setdefault((notice.id, number.account_id), (notice, number))
    return list(found.values())


@Prepared
def _attempts(attempt_ids: Any) -> Any:
    query = Attempt.select(
        Webhook.deleted_at,
        Webhook.account,
        Attempt.id,
        Attempt.delivery,
        Delivery.event_kind,
        Webhook.url,
        Attempt.number,
        Attempt.started_at + Attempt.duration_ms,
        Attempt.duration_ms,
        Attempt.success,
        Attempt.status_code,
        Attempt.error,
    )
    return query.join(Delivery).join(Webhook).where(is_in(Attempt.id, attempt_ids))

"""Work for later: rows that a worker claims, does and completes.

A claim is one conditional UPDATE. It counts the try, writes a token and moves ``due_at`` to the end of a
lease. So a row whose worker died becomes due again, and ``complete`` ignores a worker that lost its claim.
All times are those of the database's clock (``database_time``). Each kind of work decides what its last try
is.
"""

import logging
import uuid
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Self

from peewee import SQL, Select, fn

from models import clock
from models.database import BaseModel, Prepared, database_time, is_among, reading, write, writing

logger = logging.getLogger(__name__)

# The most claims of a round. A worker that gets SIGTERM can stop between two rounds.
MOST_IN_A_ROUND = 20
# More bytes than all rows together.
NO_LIMIT = 1 << 60
# Tolerance of ``recall`` for a row that another process is writing now.
SLACK_MS = 1_000


class Lease(BaseModel):
    """A row to work on at ``due_at``, in milliseconds since the epoch. Null means never.

    The model declares ``due_at``, and if its table has such columns, ``tries`` and ``lease_token``. Without
    a token, the end of the lease identifies the claim.
    """

    id: Any
    due_at: Any
    tries: Any
    lease_token: Any

    @classmethod
    def claiming(cls, token: Any, here: Any, lease_ms: Any, **more: Any) -> Any:
        """The UPDATE of a claim. Its caller adds which rows."""
        changes = {"due_at": database_time(here) + lease_ms, **more}
        if hasattr(cls, "tries"):
            changes["tries"] = cls.tries + 1
        if hasattr(cls, "lease_token"):
            changes["lease_token"] = token
        return cls.update(changes)

    @classmethod
    def is_held(cls, row_id: Any, token: Any) -> Any:
        """The condition that no other worker has claimed the row since."""
        return (cls.id == row_id) & (_token(cls) == token)

    def complete(self, due_at: Any = None, **changes: Any) -> bool:
        """End the claim. The row is due again at ``due_at``, None for never. Joins the caller's transaction.

        Returns False, and changes nothing, if the lease ended and another worker claimed the row.
        """
        cls, token = type(self), _token(type(self))
        if token is not cls.due_at:
            changes["lease_token"] = None
        update = cls.update(due_at=due_at, **changes)
        with writing():
            return bool(update.where(cls.is_held(self.id, getattr(self, token.name))).execute())

    def back_off(self, pause_ms: int, **changes: Any) -> bool:
        """Like ``complete``. The row is due again after a pause."""
        return self.complete(database_time(clock.now()) + pause_ms, **changes)

    @classmethod
    def recall(cls, longest_ms: Any, wait_ms: Any = 0, *conditions: Any) -> None:
        """Reschedule rows that are due later than the longest wait, to ``wait_ms`` from now.

        Their ``due_at`` is from before the clock was set back, or before a setting became shorter.
        ``longest_ms`` must not be less than the lease, because running work is due at the end of its lease.
        """
        now = database_time(clock.now())
        # The first condition uses the index and excludes nearly all rows.
        is_far = cls.due_at > now + SLACK_MS, cls.due_at > now + longest_ms + SLACK_MS
        with reading():
            if not cls.select().where(*conditions, *is_far).exists():
                return
        with writing():
            update = cls.update(due_at=now + wait_ms)
            recalled = update.where(*conditions, *is_far).execute()
        logger.warning(
            "%d rows of %s are due earlier now: the clock was set back, or a setting became shorter",
            recalled,
            cls._meta.table_name,
        )


class Work(Lease):
    """Work of which the row that has been due the longest comes first."""

    # The columns of the index by which claims find due rows.
    order: ClassVar[tuple[str, ...]] = ("due_at",)
    # The column whose bytes limit a claim, besides the number of rows. Empty for none.
    weighed: ClassVar[str] = ""
    # The column whose value a claim names, if each value is work of its own. Empty for none.
    divided: ClassVar[str] = ""

    @classmethod
    def claim(cls, lease_ms: int) -> Self | None:
        """Claim the row that has been due the longest, or return None."""
        return next(iter(cls.claim_many(lease_ms, 1)), None)

    @classmethod
    def claim_each(cls, lease_ms: int) -> Iterator[Self]:
        """Claim the due rows of a round, each when the one before is done."""
        for _ in range(MOST_IN_A_ROUND):
            if (claimed := cls.claim(lease_ms)) is None:
                return
            yield claimed

    @classmethod
    def claim_many(
        cls, lease_ms: int, limit: int, most_bytes: int = NO_LIMIT, *, part: str = ""
    ) -> list[Self]:
        """Claim due rows, the longest due first. Returns them sorted by identifier.

        It takes no further row once the ``weighed`` columns have ``most_bytes`` together. A row whose
        worker died or froze is claimed alone: it may be the cause. ``part`` is the value of the ``divided``
        column.
        """
        with reading():
            here = clock.now()
            first = _first_due(cls).first(here, part)
            if first is None:
                return []
            (before,) = first
            limit = 1 if before else limit
            values = uuid.uuid4().hex, here, part, lease_ms, before, limit, most_bytes
            claimed = write(lambda: list(_claim(cls).execute(*values)), cls.claims_key(part))
            return sorted(claimed, key=lambda row: str(row.id))

    @classmethod
    def claims_key(cls, part: str = "") -> str:
        """The key of transactions that claim rows, or end claims (models.database.write)."""
        return f"{cls._meta.table_name} claims {part}".rstrip()


def fitting(rows: Any, most_bytes: Any, order: Sequence[str]) -> Any:
    """The ids of the first rows of a query, in this order, up to the one that fills ``most_bytes``.

    So a row of any size fits if it is the first. The query selects ``id``, ``size`` and the order.
    """
    found = rows.alias("found")
    until = fn.SUM(found.c.size).over(order_by=[getattr(found.c, name) for name in order])
    counted = Select([found], [found.c.id, (until - found.c.size).alias("before")])
    counted = counted.alias("counted")
    return Select([counted], [counted.c.id]).where(counted.c.before < most_bytes)


def _token(model: type[Lease]) -> Any:
    return getattr(model, "lease_token", model.due_at)


def _lost_token(model: type[Work]) -> Any:
    """The token of a worker that died, otherwise empty."""
    return fn.COALESCE(getattr(model, "lease_token", SQL("NULL")), "")


def _due(model: type[Work], here: Any, part: Any) -> Any:
    due = model.select(model.id).where(model.due_at <= database_time(here))
    if model.divided:
        due = due.where(getattr(model, model.divided) == part)
    return due.order_by(*(getattr(model, name) for name in model.order))


@cache
def _first_due(model: type[Work]) -> Prepared:
    return Prepared(lambda here, part: _due(model, here, part).select(_lost_token(model)).limit(1))


@cache
def _claim(model: type[Work]) -> Prepared:
    def claim(
        token: Any, here: Any, part: Any, lease_ms: Any, before: Any, limit: Any, most_bytes: Any
    ) -> Any:
        ids = _due(model, here, part).where(_lost_token(model) == before).limit(limit)
        if model.weighed:
            size = fn.LENGTH(getattr(model, model.weighed)).alias("size")
            names = dict.fromkeys(("id", *model.order))
            rows = ids.select(*(getattr(model, name).alias(name) for name in names), size)
            ids = fitting(rows, most_bytes, model.order)
        claiming = model.claiming(token, here, lease_ms)
        return claiming.where(is_among(model.id, ids)).returning(model)

    return Prepared(claim, model)

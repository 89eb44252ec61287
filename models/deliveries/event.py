"""Events: the exact bytes that every webhook receives.

Within an account they are ordered by ``position`` and ``id``: the order in which they became visible
(models.deliveries.feed).
"""

from typing import Any, Self

from peewee import SQL, BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts.account import Account
from models.clock import new_id
from models.database import BaseModel, Prepared, answers_at_once, reading
from models.deliveries.removed_event import ErasedEvent, EventFloor


class Event(BaseModel):
    """One event. ``payload`` is the envelope as JSON text; it never changes.

    ``once_key`` is unique where it is set: a message has each event kind at most once. ``position`` is set
    by the database: see order_by_commit() and _append().
    """

    account_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    kind = TextField()
    number_id = TextField()
    subject_id = TextField(index=True)
    payload = TextField()
    once_key = TextField(null=True, unique=True)
    created_at = BigIntegerField()
    position = BigIntegerField(constraints=[SQL("DEFAULT 0")])

    class Meta:
        indexes = ((("account", "position", "id"), False),)

    @classmethod
    def append(
        cls,
        account_id: str,
        kind: str,
        *,
        number_id: str,
        subject_id: str,
        payload: str,
        once: bool,
    ) -> Self:
        """Write an event inside the caller's transaction.

        With ``once``, an existing event of the same key stays, and this one is not stored.
        """
        row = cls(
            id=new_id("evt"),
            account=account_id,
            kind=kind,
            number_id=number_id,
            subject_id=subject_id,
            payload=payload,
            once_key=f"{kind}:{subject_id}" if once else None,
            created_at=clock.now(),
        )
        _append.execute(*map(row.__data__.get, _GIVEN))
        return row

    @classmethod
    def of_subject(cls, account_id: str, subject_id: str) -> list[Self]:
        with reading():
            query = cls.select().where(cls.subject_id == subject_id, cls.account == account_id)
            return list(query.order_by(cls.id))


_POSITIONS = (Event, ErasedEvent, EventFloor)
_GIVEN = (
    "id",
    "account",
    "kind",
    "number_id",
    "subject_id",
    "payload",
    "once_key",
    "created_at",
)


@Prepared
def _append(*slots: Any) -> Any:
    """On SQLite the position is after the account's last one, and at least the time in microseconds.

    SQLite has one writer, so positions follow the commits. They never restart, also if all events are
    removed and the clock is set back.
    """
    values = dict(zip(_GIVEN, slots, strict=True))
    if answers_at_once():
        after = [fn.COALESCE(_last(table, values["account"]), 0) + 1 for table in _POSITIONS]
        values["position"] = fn.MAX(*after, values["created_at"] * 1000)
    return Event.insert(values).on_conflict_ignore()


def _last(table: Any, account_id: Any) -> Any:
    return table.select(fn.MAX(table.position)).where(table.account_id == account_id)


def order_by_commit(connected: Any, base: int = 0) -> None:
    """Have PostgreSQL set the position of a new event to the number of its transaction, plus ``base``."""
    if not answers_at_once():
        number = "pg_current_xact_id()::text::bigint" + (f" + {base}" if base else "")
        connected.execute_sql(f"ALTER TABLE event ALTER COLUMN position SET DEFAULT {number}")

"""Events: the exact bytes that every webhook receives.

Within an account they are ordered by ``position`` and ``id``: the order in which they became visible
(models.deliveries.feed). A cursor at a removed event must not be mistaken for one of another history. So
erased events are listed until retention would remove them, and retention records the last event that it
removed of each account.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

import orjson
from peewee import SQL, BigIntegerField, ForeignKeyField, TextField, fn

from models import clock
from models.accounts.account import Account
from models.database import BaseModel, Prepared, answers_at_once, fetch
from models.long_text import LongText
from models.messages.message import Message

# The end of the envelope of a message whose content is too large to be stored twice, and its content there.
_CUT, _WHOLE, _NO_BODY = ',"truncated":true}}', "}}", '"body":{}'
_encode_slowly = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(value: Any) -> str:
    """A value as compact JSON."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # Half of a surrogate pair, which a text of the network may contain, or a number above 64 bits.
        return _encode_slowly(value)


class Event(BaseModel):
    """One event. ``payload`` is the envelope as JSON text, or None in a row of a list; it never changes.

    The content of a large message is only in the message's row: see sent_payload(). ``once_key`` is unique
    where it is set: a message has each event kind at most once. ``position`` is set by the database: see
    order_by_commit() and _append().
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
    def append(cls, *given: Any, **values: Any) -> Self:
        """Write an event inside the caller's transaction, with the arguments of ``made``.

        With ``once``, an existing event of the same key stays, and this one is not stored.
        """
        row = cls.made(*given, **values)
        cls.append_many([row])
        return row

    @classmethod
    def append_many(cls, rows: Sequence[Self]) -> None:
        """Write events inside the caller's transaction. See ``append``."""
        _append.execute_many([list(map(row.__data__.get, _GIVEN)) for row in rows])

    @classmethod
    def made(
        cls,
        account_id: str,
        kind: str,
        data: Mapping[str, Any],
        *,
        number_id: str,
        subject_id: str,
        at: int | None = None,
        once: bool | str = False,
    ) -> Self:
        """An event that is not stored yet. ``at`` is the time in it, by default now.

        The key of ``once`` is the kind and the subject, or the kind and this text.
        """
        payload = envelope(kind, at or clock.now(), data)
        return cls(
            id=clock.new_id("evt"),
            account=account_id,
            kind=kind,
            number_id=number_id,
            subject_id=subject_id,
            payload=payload,
            once_key=f"{kind}:{subject_id if once is True else once}" if once else None,
            created_at=clock.now(),
        )

    @property
    def sent_payload(self) -> str:
        """The envelope as webhooks receive it."""
        return sent_payload(self.id, self.payload, self.subject_id)

    @classmethod
    def of_subject(cls, account_id: str, subject_id: str) -> list[Self]:
        """The events about a subject, without long payloads, oldest first."""
        query = cls.select(*PAYLOAD.columns).where(
            cls.subject_id == subject_id, cls.account == account_id
        )
        return fetch(query.order_by(cls.id))

    @classmethod
    def payloads(cls, kind: str, subject_ids: Collection[str], since: int) -> list[tuple[str, str]]:
        """The subject and payload of each event of a kind about these subjects, from since a time."""
        wanted = (cls.subject_id.in_(subject_ids), cls.kind == kind, cls.created_at >= since)
        return fetch(cls.select(cls.subject_id, cls.payload).where(*wanted).tuples())


PAYLOAD = LongText(Event.payload)


def sent_payload(event_id: str, payload: str, subject_id: str) -> str:
    """The envelope as webhooks receive it: with its identifier and the whole content of a message.

    The content is read now.
    """
    message = Message.by_id(subject_id) if payload.endswith(_CUT) else None
    if message is not None:
        # No text can contain the member: its quotes would be escaped.
        body = f'"body":{message.body_json}'
        payload = payload.removesuffix(_CUT).replace(_NO_BODY, body, 1) + _WHOLE
    return identified(event_id, payload)


def identified(event_id: str, payload: str) -> str:
    """The envelope with its identifier, which is not stored a second time in the payload."""
    return f'{{"id":"{event_id}",{payload[1:]}'


def envelope(kind: str, at: int, data: Mapping[str, Any]) -> str:
    """An event as JSON text. Webhooks receive it with its identifier (docs/webhooks.md)."""
    return encode({"event": kind, "timestamp": clock.timestamp(at), "data": data})


class ErasedEvent(BaseModel):
    """An event about an erased person. Nothing in it names the person."""

    id = TextField(primary_key=True)
    account_id = TextField()
    position = BigIntegerField()

    class Meta:
        indexes = ((("account_id", "position"), False),)

    @classmethod
    def note(cls, events: Iterable[Any]) -> None:
        """List these events, inside the caller's transaction, which removes them."""
        rows = [(event.id, event.account_id, event.position) for event in events]
        if rows:
            fields = [cls.id, cls.account_id, cls.position]
            cls.insert_many(rows, fields=fields).on_conflict_ignore().execute()


class EventFloor(BaseModel):
    """The last event of an account that retention removed, in the order of readers."""

    account_id = TextField(primary_key=True)
    position = BigIntegerField()
    event_id = TextField()

    @classmethod
    def note(cls, events: Iterable[Any]) -> None:
        """Raise the floors to these events, inside the caller's exclusive transaction, which removes them."""
        floors = {row.account_id: (row.position, row.event_id) for row in cls.select()}
        raised: dict[str, tuple[int, str]] = {}
        for event in events:
            place = (event.position, event.id)
            if place > raised.get(event.account_id, floors.get(event.account_id, (-1, ""))):
                raised[event.account_id] = place
        for account_id, (position, event_id) in raised.items():
            cls.delete().where(cls.account_id == account_id).execute()
            cls.create(account_id=account_id, position=position, event_id=event_id)


_POSITIONS = (Event, ErasedEvent, EventFloor)
_COLUMNS = Event._meta.sorted_field_names  # noqa: SLF001 - peewee's documented attribute
_GIVEN = [name for name in _COLUMNS if name != "position"]


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

"""Reads an account's events after a cursor, in the order in which they became visible.

Transactions do not commit in the order of their identifiers or times. A reader must not miss an event that
is committed late. So on PostgreSQL the position of an event is the number of its transaction, and a read
ends before the oldest running transaction. SQLite has one writer at a time. A cursor whose events may be
incomplete is refused (docs/decisions/0047-events-in-the-order-of-commits.md).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from peewee import JOIN, SQL, Cast, Join, Select, Tuple, fn
from ulid import ULID

from models import clock
from models.database import Prepared, Rows, answers_at_once, reading, reading_together, repeated
from models.deliveries.event import PAYLOAD, ErasedEvent, Event, EventFloor
from models.deliveries.event_history import added, mark, name_of

# How much older than its time the position of an event may be: clocks of hosts may differ by minutes, and a
# transaction has its number from its first write on.
SLACK_MS = 600_000
MAX_POSITION = 2**63 - 1
# How many events a query examines for matches.
MOST_LOOKED_AT = 10_000
# As in the contract: a position is below 2**63.
_CURSOR = re.compile(r"([0-7]?[0-9a-f]{1,15})-(evt_[0-9A-HJKMNP-TV-Z]{26})?", re.ASCII)
# The digits of an identifier, and how many of its characters hold prefix and time.
_DIGITS, _TIME_END = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 14
# In a cursor of a known history, the identifier before all events.
_NO_EVENT = "evt_00000000000123456789ABCDEF"


class LostPlaceError(Exception):
    """Events after the cursor may be missing. ``since`` is the time to read again from, in milliseconds."""

    def __init__(self, reason: str, since: int) -> None:
        super().__init__(reason)
        self.since = since


class Place(NamedTuple):
    """The position of a cursor: after an event, or before all events.

    ``history`` is empty if it is unknown. Then ``event_id`` is that of a cursor.
    """

    position: int = 0
    event_id: str = ""
    history: str = ""

    @property
    def cursor(self) -> str:
        """The cursor as text. ``at`` parses it.

        The history exchanges the digits of the event's identifier: clients of release 1.0 know the form.
        """
        event_id = self.event_id
        if self.history:
            event_id = _exchanged(event_id or _NO_EVENT, _code(self.history))
        return f"{self.position:x}-{event_id}"

    @property
    def key(self) -> tuple[int, str]:
        """What orders places of one history."""
        return self[:2]

    @classmethod
    def at(cls, cursor: str) -> Self | None:
        """The place of a cursor, of an unknown history. None if the text is not a cursor."""
        found = _CURSOR.fullmatch(cursor)
        return None if found is None else cls(int(found[1], 16), found[2] or "")

    def within(self, history: str) -> Self:
        """The place of a cursor, read as one of this history."""
        event_id = _exchanged(self.event_id, {out: into for into, out in _code(history).items()})
        return self._replace(event_id="" if event_id == _NO_EVENT else event_id, history=history)

    @classmethod
    def of(cls, event: Event, history: str) -> Self:
        """The place after an event."""
        return cls(event.position, event.id, history)

    def earliest(self) -> int:
        """A time before all events that may follow it, in milliseconds. Clocks may differ by SLACK_MS."""
        if not self.event_id:
            return 0
        try:
            at = ULID.from_str(self.event_id.removeprefix("evt_")).milliseconds
        except ValueError:
            return 0
        return max(0, min(at, clock.now()) - SLACK_MS)


START, END = Place(), Place(MAX_POSITION, "")


@lru_cache(maxsize=8)
def _code(history: str) -> dict[int, int]:
    """The digits in another order, which differs between histories, for str.translate()."""
    order = sorted(_DIGITS, key=lambda digit: blake2b(f"{history}{digit}".encode()).digest())
    return str.maketrans(_DIGITS, "".join(order))


def _exchanged(event_id: str, digits: dict[int, int]) -> str:
    """An identifier with the same time and other digits after it."""
    return event_id[:_TIME_END] + event_id[_TIME_END:].translate(digits)


@dataclass(frozen=True)
class Wanted:
    """The filters of an account's events. None means no filter.

    Events were created from ``since`` to before ``until``.
    """

    account_id: str
    kinds: tuple[str, ...] | None = None
    number_id: str | None = None
    since: int | None = None
    until: int | None = None

    @repeated
    def read(self, after: Place, limit: int) -> tuple[list[Event], Place]:
        """The next events after a place, and the place to continue from. Raises LostPlaceError.

        That is after the last event. If fewer than ``limit`` match, it is after all examined events.
        """
        with reading():
            view = _View.of(_viewed_from(self.account_id, after))
            if after.event_id and not (after.history or view.is_known):
                # Cursors of release 1.0 contain the identifier as it is. Such an event is known.
                after = after.within(view.end.history)
                view = _View.of(_viewed_from(self.account_id, after))
            end = view.checked(after).end
            if end.key <= after.key:
                return [], after
            # The view is checked after the events were read: until then none of them was removed. One server
            # runs the transaction, so that they are of its history.
            with reading_together():
                begin = max(after.key, self._start())
                if self._conditions():
                    end = min(end, self._farthest(begin, end.history) or end)
                found = self._between(begin, end.key).where(*self._conditions())
                events = list(found.limit(limit))
                rows = _viewed_from(self.account_id, after)
            if _View.of(rows).checked(after).end.history != end.history:
                raise LostPlaceError(_CHANGED, after.earliest())
        is_full = len(events) == limit
        return events, Place.of(events[-1], end.history) if is_full else end

    def _between(self, begin: tuple[int, str], end: tuple[int, str]) -> Any:
        """All events of the account after one place up to another, in order, without long payloads."""
        place = Tuple(Event.position, Event.id)
        query = Event.select(*PAYLOAD.columns).where(
            Event.account == self.account_id, place > Tuple(*begin), place <= Tuple(*end)
        )
        return query.order_by(Event.position, Event.id)

    def _farthest(self, begin: tuple[int, str], history: str) -> Place | None:
        """The last place that a query examines. None if fewer events follow."""
        following = self._between(begin, END.key).offset(MOST_LOOKED_AT - 1).limit(1)
        found = following.select(Event.position, Event.id).first()
        return found and Place.of(found, history)

    def _conditions(self) -> list[Any]:
        conditions = []
        if self.kinds is not None:
            conditions.append(Event.kind.in_(self.kinds))
        if self.number_id is not None:
            conditions.append(_concerns(self.number_id))
        if self.since is not None:
            conditions.append(Event.created_at >= self.since)
        if self.until is not None:
            conditions.append(Event.created_at < self.until)
        return conditions

    def _start(self) -> tuple[int, str]:
        """A place before the first event from ``since`` on."""
        if self.since is None:
            return START.key
        if answers_at_once():
            # A position is never below the time.
            return min(max(0, self.since) * 1000, MAX_POSITION), ""
        bound = clock.id_bound("evt", self.since - SLACK_MS)
        first = Event.select(Event.position).where(Event.id > bound).order_by(Event.id).first()
        return END.key if first is None else (first.position, bound)


@dataclass(frozen=True)
class _View:
    """What one query sees of an account's events: the last visible one, and a place of a reader.

    ``is_known`` is whether the event of the place is there or was erased, ``floor`` the last event that
    retention removed.
    """

    end: Place
    is_known: bool
    floor: tuple[int, str]

    @classmethod
    def of(cls, rows: Rows[Any]) -> Self:
        """From the row of ``_viewed``."""
        [(marked, position, event_id, floor_position, floor_id, is_known)] = rows
        end = Place(position or 0, event_id or "", name_of(marked))
        return cls(end, bool(is_known), (floor_position or 0, floor_id or ""))

    def checked(self, place: Place) -> Self:
        """Raise LostPlaceError if events after the place may be missing."""
        if place == START:
            return self
        is_ours = place.history in {"", self.end.history}
        if is_ours and place.key < self.floor:
            raise LostPlaceError(_EXPIRED, place.earliest())
        if is_ours and (self.is_known or place.key in {START.key, self.floor}):
            return self
        raise LostPlaceError(_CHANGED, place.earliest())


_EXPIRED = "Events after the cursor are no longer kept"
_CHANGED = "The cursor is from before a restore or failover of the database"


def _viewed_from(account_id: str, place: Place) -> Rows[Any]:
    return _viewed.execute(account_id, place.event_id, place.position)


def newest(account_id: str) -> Place:
    """The place after the last event of the account that can be read now."""
    with reading():
        return _View.of(_viewed_from(account_id, START)).end


def is_held_back(before: int) -> bool:
    """Whether an event from before this time may not be visible yet. Never on SQLite."""
    if answers_at_once():
        return False
    earlier = Event.select(Event.position >= _horizon()).where(
        Event.id < clock.id_bound("evt", before)
    )
    with reading():
        return bool(earlier.order_by(Event.id.desc()).limit(1).scalar())


def _horizon() -> Any:
    """The lowest position that a running transaction may write."""
    return Cast(Cast(fn.pg_snapshot_xmin(fn.pg_current_snapshot()), "text"), "bigint") + added()


@Prepared
def _viewed(account_id: Any, event_id: Any, position: Any) -> Any:
    """One row: the mark of the history, the newest event, the floor, and whether the place is known."""
    query = Event.select(Event.position, Event.id).where(Event.account == account_id)
    if not answers_at_once():
        query = query.where(Event.position < _horizon())
    newest = query.order_by(Event.position.desc(), Event.id.desc()).limit(1).alias("newest")
    floor = EventFloor.select().where(EventFloor.account_id == account_id).alias("floor")
    always = SQL("1 = 1")
    one = Select([], [mark().alias("mark")]).alias("one")
    tables = Join(Join(one, newest, JOIN.LEFT_OUTER, always), floor, JOIN.LEFT_OUTER, always)
    known = [
        fn.EXISTS(
            table.select(SQL("1")).where(
                table.id == event_id, table.account_id == account_id, table.position == position
            )
        )
        for table in (Event, ErasedEvent)
    ]
    columns = (one.c.mark, newest.c.position, newest.c.id, floor.c.position, floor.c.event_id)
    return Select([tables], [*columns, known[0] | known[1]])


def _concerns(number_id: str) -> Any:
    """The condition that an event is about a number. A template is about several."""
    of_template = (Event.kind == "template.updated") & Event.payload.contains(f'"{number_id}"')
    return (Event.number_id == number_id) | of_template

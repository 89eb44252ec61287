"""Reads an account's events after a cursor, in the order in which they became visible.

Transactions do not commit in the order of their identifiers or times. A reader must not miss an event that
is committed late. So on PostgreSQL the position of an event is the number of its transaction, and a read
ends before the oldest running transaction. SQLite has one writer at a time
(docs/decisions/0047-events-in-the-order-of-commits.md).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from peewee import Cast, Select, Tuple, fn

from models.clock import id_bound
from models.database import Prepared, answers_at_once, reading
from models.event import Event

# How much older than its time the position of an event may be: clocks of hosts may differ by minutes, and a
# transaction has its number from its first write on.
SLACK_MS = 600_000
MAX_POSITION = 2**63 - 1
# How many events a query examines for matches.
MOST_LOOKED_AT = 10_000
# As in the contract: a position is below 2**63.
_CURSOR = re.compile(r"([0-7]?[0-9a-f]{1,15})-(evt_[0-9A-HJKMNP-TV-Z]{26})?", re.ASCII)


class ForeignCursorError(Exception):
    """The cursor belongs to another database: its transaction number is higher than any here."""

    def __init__(self) -> None:
        super().__init__("The cursor belongs to another database. Begin again with since.")


class Place(NamedTuple):
    """The position of a cursor: after an event, or before all events."""

    position: int = 0
    event_id: str = ""

    @property
    def cursor(self) -> str:
        """The cursor as text. ``at`` parses it."""
        return f"{self.position:x}-{self.event_id}"

    @classmethod
    def at(cls, cursor: str) -> Self | None:
        """The place of a cursor, None if the text is not a cursor."""
        found = _CURSOR.fullmatch(cursor)
        return None if found is None else cls(int(found[1], 16), found[2] or "")

    @classmethod
    def of(cls, event: Event) -> Self:
        """The place after an event."""
        return cls(event.position, event.id)


START, END = Place(), Place(MAX_POSITION, "")


@dataclass(frozen=True)
class Wanted:
    """The filters of an account's events. None means no filter. ``since`` is the earliest creation."""

    account_id: str
    kinds: tuple[str, ...] | None = None
    number_id: str | None = None
    since: int | None = None

    def read(self, after: Place, limit: int) -> tuple[list[Event], Place]:
        """The next events after a place, and the place to continue from.

        That is after the last event. If fewer than ``limit`` match, it is after all examined events.
        """
        with reading():
            end = newest(self.account_id)
            if end <= after:
                _refuse_foreign(after, end)
                return [], after
            begin = max(after, self._start())
            if self._conditions():
                end = min(end, self._farthest(begin) or end)
            events = list(self._between(begin, end).where(*self._conditions()).limit(limit))
        return events, Place.of(events[-1]) if len(events) == limit else end

    def _between(self, begin: Place, end: Place) -> Any:
        """All events of the account after one place up to another, in order."""
        place = Tuple(Event.position, Event.id)
        query = Event.select().where(
            Event.account == self.account_id, place > Tuple(*begin), place <= Tuple(*end)
        )
        return query.order_by(Event.position, Event.id)

    def _farthest(self, begin: Place) -> Place | None:
        """The last place that a query examines. None if fewer events follow."""
        following = self._between(begin, END).offset(MOST_LOOKED_AT - 1).limit(1)
        found = following.select(Event.position, Event.id).first()
        return found and Place.of(found)

    def _conditions(self) -> list[Any]:
        conditions = []
        if self.kinds is not None:
            conditions.append(Event.kind.in_(self.kinds))
        if self.number_id is not None:
            conditions.append(_concerns(self.number_id))
        if self.since is not None:
            conditions.append(Event.created_at >= self.since)
        return conditions

    def _start(self) -> Place:
        """A place before the first event from ``since`` on."""
        if self.since is None:
            return START
        if answers_at_once():
            # A position is never below the time.
            return Place(min(max(0, self.since) * 1000, MAX_POSITION))
        bound = id_bound("evt", self.since - SLACK_MS)
        with reading():
            first = Event.select(Event.position).where(Event.id > bound).order_by(Event.id).first()
        return END if first is None else Place(first.position, bound)


def newest(account_id: str) -> Place:
    """The place after the last event of the account that can be read now."""
    with reading():
        found: Sequence[Any] | None = _newest.execute(account_id).first()
    return START if found is None else Place(*found)


def _refuse_foreign(place: Place, end: Place) -> None:
    """Raise ForeignCursorError for a place that is not in this database."""
    if place.position > end.position and not answers_at_once():
        [(now,)] = _NOW.execute()
        if place.position > now:
            raise ForeignCursorError


_NOW = Prepared(lambda: Select([], [_number(fn.pg_snapshot_xmax(fn.pg_current_snapshot()))]))


def is_held_back(before: int) -> bool:
    """Whether an event from before this time may not be visible yet. Never on SQLite."""
    if answers_at_once():
        return False
    with reading():
        latest = Event.select().where(Event.id < id_bound("evt", before)).order_by(Event.id.desc())
        is_hidden = Event.position >= _horizon()
        [hidden] = [*latest.select(is_hidden).limit(1).tuples(), (False,)][:1]
        return bool(hidden[0])


def _horizon() -> Any:
    """The lowest position that a running transaction may write."""
    return _number(fn.pg_snapshot_xmin(fn.pg_current_snapshot()))


def _number(transaction: Any) -> Any:
    """A transaction's number as an integer."""
    return Cast(Cast(transaction, "text"), "bigint")


@Prepared
def _newest(account_id: Any) -> Any:
    query = Event.select(Event.position, Event.id).where(Event.account == account_id)
    if not answers_at_once():
        query = query.where(Event.position < _horizon())
    return query.order_by(Event.position.desc(), Event.id.desc()).limit(1)


def _concerns(number_id: str) -> Any:
    """The condition that an event is about a number. A template is about several."""
    of_template = (Event.kind == "template.updated") & Event.payload.contains(f'"{number_id}"')
    return (Event.number_id == number_id) | of_template

"""The filters of the list of messages, and the index that serves each.

With filters by number, direction and status alone, the total comes from the tallies. Otherwise the rows are
counted, by an index if possible (docs/performance.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import fn

from models.clock import id_bound
from models.database import is_among
from models.messages.message import (
    CONTENT,
    FREQUENT_TYPES,
    IS_INBOUND,
    IS_OF_BROADCAST,
    IS_PERSONS,
    IS_RARE_TYPE,
    IS_UNARRIVED,
    UNARRIVED,
    Direction,
    Message,
)
from models.page import Page, Start, fetch_page
from models.reports.tally import MessageTally

# The most ms between the time of an outbound message and the time of its identifier.
ID_TOLERANCE_MS = 60_000
# The columns by which the tallies count.
TALLIED = ("number_id", "direction", "status")


@dataclass(frozen=True)
class MessageFilter:
    """The filters of a list of messages. None means no filter.

    ``contact_ids`` are contacts of the account. ``created_at`` is from ``since`` to before ``until``.
    ``error_words`` are part of the text of the error, in any case. An error with one of
    ``error_codes_of_words`` matches as well.
    """

    number_id: str | None = None
    direction: str | None = None
    status: str | None = None
    contact_ids: Sequence[str] | None = None
    type: str | None = None
    message_id: str | None = None
    wa_message_id: str | None = None
    reference: str | None = None
    broadcast_id: str | None = None
    since: int | None = None
    until: int | None = None
    error_code: str | None = None
    error_words: str | None = None
    error_codes_of_words: Sequence[str] = ()

    def page(self, account_id: str, limit: int, start: Start) -> Page[Message]:
        """The account's messages that match, newest first, without long contents."""
        conditions = (*self._conditions(), *self._by_index())
        query = Message.select(*CONTENT.columns).where(Message.account == account_id, *conditions)
        # Unarrived messages are outbound, so their identifiers are in the order of their times.
        is_by_time = self._is_timed and not self._is_unarrived
        by_time = {"created_at": self._created_at} if is_by_time else {}
        key = by_time | {"id": Message.id}
        return fetch_page(query, limit, start, self._total(account_id), key=key)

    @property
    def _is_timed(self) -> bool:
        return self.since is not None or self.until is not None

    def _narrow_index(self) -> list[Any] | None:
        """The condition of the index that leaves few messages. None if no filter has one."""
        names = self.message_id, self.wa_message_id, self.reference, self.broadcast_id
        if self.contact_ids is not None or any(names):
            return []
        if self.error_code or self.error_words:
            # Only failed messages have an error.
            return [IS_UNARRIVED]
        return None if self.type in {None, *FREQUENT_TYPES} else [IS_RARE_TYPE]

    @property
    def _is_unarrived(self) -> bool:
        """Whether the index of unarrived messages is the best one."""
        return self.status in UNARRIVED and self._narrow_index() is None

    @property
    def _created_at(self) -> Any:
        """The time. As an expression it is in no index, if the index of another filter is better."""
        is_narrow = self._narrow_index() is not None
        return Message.created_at + 0 if is_narrow else Message.created_at

    def _conditions(self) -> list[Any]:
        conditions = self._equal(Message, *TALLIED, "type", "error_code", "reference")
        if self.message_id is not None:
            conditions.append(Message.id == self.message_id)
        # With the plain columns the database may walk an index in the list's order, and so read every row.
        same = Message.alias()
        if self.contact_ids is not None:
            theirs = same.select(same.id).where(IS_PERSONS, same.contact_id.in_(self.contact_ids))
            conditions.append(is_among(Message.id, theirs))
        if self.wa_message_id is not None:
            named = same.select(same.id).where(same.wa_message_id == self.wa_message_id)
            conditions.append(is_among(Message.id, named))
        if self.broadcast_id is not None:
            theirs = same.select(same.id).where(
                IS_OF_BROADCAST, same.broadcast_id == self.broadcast_id
            )
            conditions.append(is_among(Message.id, theirs))
        if self.error_words is not None:
            has_code = Message.error_code.in_(list(self.error_codes_of_words))
            conditions.append(Message.error_message.contains(self.error_words) | has_code)
        if self.since is not None:
            conditions.append(self._created_at >= self.since)
        if self.until is not None:
            conditions.append(self._created_at < self.until)
        return conditions

    def _by_index(self) -> list[Any]:
        """The condition of the best partial index. None if a full index is better."""
        if (narrow := self._narrow_index()) is not None:
            return narrow
        if self._is_unarrived:
            return [IS_UNARRIVED, *self._within_identifiers()]
        if self._is_timed:
            return []
        is_inbound = self.direction == Direction.INBOUND and self.number_id is None
        return [IS_INBOUND] if is_inbound else []

    def _within_identifiers(self) -> list[Any]:
        """A bound on the identifiers of outbound messages, slightly wider than the time."""
        conditions = []
        if self.since is not None:
            conditions.append(Message.id >= id_bound("msg", self.since - ID_TOLERANCE_MS))
        if self.until is not None:
            conditions.append(Message.id < id_bound("msg", self.until + ID_TOLERANCE_MS))
        return conditions

    def _total(self, account_id: str) -> Any:
        """The query for the sum of the tallies. None if one of the filters has no tally."""
        if self != MessageFilter(self.number_id, self.direction, self.status):
            return None
        tally = MessageTally
        wanted = [tally.account_id == account_id, *self._equal(tally, *TALLIED)]
        return tally.select(fn.SUM(tally.total)).where(*wanted)

    def _equal(self, model: Any, *names: str) -> list[Any]:
        """The filters by these columns."""
        values = {name: getattr(self, name) for name in names}
        return [getattr(model, name) == v for name, v in values.items() if v is not None]

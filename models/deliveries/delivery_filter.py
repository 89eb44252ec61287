"""Lists deliveries of several webhooks, filtered by event, person, time and response."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice, product
from typing import Any

from peewee import chunked, fn

from models.clock import id_bound
from models.database import fetch, is_among, reading
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import (
    FREQUENT,
    IS_RARE,
    IS_UNDELIVERED,
    UNDELIVERED,
    Delivery,
    DeliveryState,
)
from models.deliveries.event import Event
from models.messages.contact import Contact
from models.messages.message import CONTENT, IS_PERSONS, Message
from models.page import Newest, Page, Start, fetch_page
from models.reports.tally import DeliveryTally

# The ms between the time of a row and the time of its identifier.
ID_SLACK_MS = 60_000
# The most rows that a filter by response reads in all, and in one query.
MOST_READ, PART = 5_000, 100
# By the first digit of the status. Without a response there is none.
ANSWERS = ("2xx", "3xx", "4xx", "5xx", "none")
NO_ANSWER = "none"


@dataclass(frozen=True)
class DeliveryFilter:
    """The filters of a list of deliveries. None means no filter.

    ``answer`` is one of ANSWERS and filters by the last attempt. ``contact_ids`` are the people in the
    events. ``created_at`` is from ``since`` to before ``until``.
    """

    webhook_ids: Sequence[str]
    states: Sequence[str] | None = None
    kind: str | None = None
    answer: str | None = None
    contact_ids: Sequence[str] | None = None
    since: int | None = None
    until: int | None = None

    def newest(self, limit: int, before: str | None = None) -> Newest[Delivery]:
        """The matching deliveries older than ``before``.

        With a filter by response it ends early, with fewer than ``limit``, after MOST_READ rows.
        """
        found: list[Delivery] = []
        looked_at = 0
        with reading():
            for part in chunked(self._candidates(before), PART):
                for row in self._answered(part):
                    if len(found) == limit:
                        return Newest(found, found[-1].id)
                    found.append(row)
                looked_at += len(part)
                if self.answer and looked_at >= MOST_READ:
                    return Newest(found, part[-1].id)
        return Newest(found, None)

    def oldest(self, after: str | None = None) -> Iterator[Delivery]:
        """All matching deliveries newer than ``after``, oldest first, read in parts."""
        for part in chunked(self._candidates(after, is_oldest_first=True), PART):
            yield from self._answered(part)

    def oldest_ids(self, limit: int) -> list[str]:
        """Identifiers of the matching deliveries, oldest first. Without filters by response and person."""
        query = self._query(Delivery.id).order_by(Delivery.id).limit(limit)
        return [id_ for (id_,) in fetch(query.tuples())]

    def page(self, limit: int, start: Start) -> Page[Delivery]:
        """The matching deliveries, newest first. Without filters by response and person."""
        with reading():
            return fetch_page(self._query(), limit, start, self.total())

    def total(self) -> int | None:
        """The number of matching deliveries, if the tallies have it."""
        wanted = self.answer, self.contact_ids, self.since, self.until
        if any(each is not None for each in wanted):
            return None
        with reading():
            return int(self._tallied().scalar() or 0)

    def _tallied(self, *by: Any) -> Any:
        """The sum of the tallies for each of ``by``. It ignores the filters by response, person and time."""
        tally = DeliveryTally
        sums = tally.select(*by, fn.SUM(tally.total)).where(tally.webhook_id.in_(self.webhook_ids))
        if self.states is not None:
            sums = sums.where(tally.state.in_(self.states))
        if self.kind is not None:
            sums = sums.where(tally.event_kind == self.kind)
        return sums.group_by(*by)

    def _candidates(
        self, beyond: str | None, *, is_oldest_first: bool = False
    ) -> Iterator[Delivery]:
        conditions = self._conditions()
        if self.contact_ids is not None:
            about = is_among(Delivery.id, _ids_about(self.contact_ids))
            of_ours = Delivery.webhook.in_(self.webhook_ids)
            return _pages((about, of_ours, *conditions), beyond, is_oldest_first=is_oldest_first)
        rows = fetch(self._tallied(DeliveryTally.webhook_id, DeliveryTally.state).tuples())
        tallied = {(webhook_id, state): int(total) for webhook_id, state, total in rows}
        sources = []
        for webhook_id, (kind, states) in product(self.webhook_ids, self._kinds()):
            # Past the last match the database would scan all remaining rows.
            if most := sum(tallied.get((webhook_id, state), 0) for state in states):
                found = (Delivery.webhook == webhook_id, *conditions, *kind)
                sources.append(islice(_pages(found, beyond, is_oldest_first=is_oldest_first), most))
        return merge(*sources, key=lambda row: row.id, reverse=not is_oldest_first)

    def _query(self, *columns: Any) -> Any:
        ours = Delivery.webhook.in_(self.webhook_ids)
        return Delivery.select(*columns).where(ours, *self._conditions())

    def _conditions(self) -> list[Any]:
        """The filters by state, event and time, so that each uses its index."""
        conditions: list[Any] = []
        if self.since is not None:
            conditions.append(Delivery.id >= id_bound("dlv", self.since - ID_SLACK_MS))
            conditions.append(Delivery.created_at >= self.since)
        if self.until is not None:
            conditions.append(Delivery.id < id_bound("dlv", self.until + ID_SLACK_MS))
            conditions.append(Delivery.created_at < self.until)
        if self.states is not None:
            conditions.append(Delivery.state.in_(self.states))
            if set(self.states) <= set(UNDELIVERED):
                conditions.append(IS_UNDELIVERED)
        if self.kind is not None:
            conditions.append(Delivery.event_kind == self.kind)
            if self.kind not in FREQUENT:
                conditions.append(IS_RARE)
        return conditions

    def _kinds(self) -> list[tuple[list[Any], Sequence[str]]]:
        """Conditions, each with an index, and the states in which a delivery can have such a response."""
        if self.answer is None or self.states is not None:
            return [([], [*DeliveryState])]
        if self.answer == ANSWERS[0]:
            return [([Delivery.state == DeliveryState.DELIVERED], [DeliveryState.DELIVERED])]
        undelivered = [IS_UNDELIVERED], UNDELIVERED
        return [undelivered, ([Delivery.state == DeliveryState.PENDING], [DeliveryState.PENDING])]

    def _answered(self, rows: list[Delivery]) -> list[Delivery]:
        if self.answer is None:
            return rows
        last = last_attempts(rows)
        return [row for row in rows if row.id in last and answer_of(last[row.id]) == self.answer]


def answer_of(attempt: Attempt) -> str:
    """One of ANSWERS."""
    return NO_ANSWER if attempt.status_code is None else f"{attempt.status_code // 100}xx"


def last_attempts(rows: Sequence[Delivery]) -> dict[str, Attempt]:
    """The last attempt of each delivery that has one, by its identifier."""
    ids = [row.id for row in rows]
    attempts = fetch(Attempt.select().where(Attempt.delivery.in_(ids)))
    # The last attempt of a delivery replaces the earlier ones.
    return {each.delivery_id: each for each in sorted(attempts, key=lambda each: each.id)}


def people_of(rows: Sequence[Delivery]) -> dict[str, tuple[Contact | None, str]]:
    """The people in the events of deliveries, by delivery: the contact, and the message's other party.

    Deliveries about no person are left out.
    """
    with reading():
        events = Event.select(Event.id, Event.subject_id)
        subjects = {
            e.id: e.subject_id for e in events.where(Event.id.in_([row.event_id for row in rows]))
        }
        wanted = list(set(subjects.values()))
        about = Message.select(*CONTENT.columns).where(Message.id.in_(wanted))
        messages = {row.id: row for row in about}
        named = [*wanted, *(message.contact_id for message in messages.values())]
        contacts = Contact.by_ids(named)
    people: dict[str, tuple[Contact | None, str]] = {}
    for row in rows:
        subject = subjects.get(row.event_id, "")
        if message := messages.get(subject):
            people[row.id] = contacts.get(message.contact_id or ""), message.other_party
        elif contact := contacts.get(subject):
            people[row.id] = contact, contact.phone or ""
    return people


def _pages(
    conditions: Sequence[Any], beyond: str | None, *, is_oldest_first: bool
) -> Iterator[Delivery]:
    """Rows that meet the conditions, by identifier, after the cursor, read in parts."""
    by_id = Delivery.id.asc() if is_oldest_first else Delivery.id.desc()
    query = Delivery.select().where(*conditions).order_by(by_id).limit(PART)
    while True:
        is_beyond = Delivery.id > beyond if is_oldest_first else Delivery.id < beyond
        rows = fetch(query if beyond is None else query.where(is_beyond))
        yield from rows
        if len(rows) < PART:
            return
        beyond = rows[-1].id


def _ids_about(contact_ids: Sequence[str]) -> Any:
    """The deliveries of events about these people, and about messages with them."""
    messages = Message.select(Message.id).where(IS_PERSONS, Message.contact_id.in_(contact_ids))
    subjects = messages | Contact.select(Contact.id).where(Contact.id.in_(contact_ids))
    events = Event.select(Event.id).where(is_among(Event.subject_id, subjects))
    same = Delivery.alias()
    return same.select(same.id).where(is_among(same.event, events))

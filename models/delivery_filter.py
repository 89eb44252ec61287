"""Lists deliveries of several webhooks, newest first, filtered by event, person, time and response."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice, product
from typing import Any

from peewee import fn

from models.attempt import Attempt
from models.contact import Contact
from models.database import is_among, reading
from models.delivery import IS_UNDELIVERED, Delivery, DeliveryState
from models.event import Event
from models.message import IS_PERSONS, Message
from models.tally import DeliveryTally

# What a filter by answer looks at before it ends early, and in one query.
MOST_READ, PART = 5_000, 100
# By the first digit of the status. A receiver that did not answer has none.
ANSWERS = ("2xx", "3xx", "4xx", "5xx", "none")
NO_ANSWER = "none"


@dataclass(frozen=True)
class FoundDeliveries:
    """Deliveries, newest first. ``before`` continues the list, None at its end."""

    rows: list[Delivery]
    before: str | None


@dataclass(frozen=True)
class DeliveryFilter:
    """What the deliveries of a list have in common; None is no condition.

    ``answer`` is one of ANSWERS, that of the last attempt. ``contact_ids`` are the persons whom their events
    are about. ``since`` and ``until`` bound ``created_at``, the latter excluded.
    """

    webhook_ids: Sequence[str]
    state: str | None = None
    kind: str | None = None
    answer: str | None = None
    contact_ids: Sequence[str] | None = None
    since: int | None = None
    until: int | None = None

    def newest(self, limit: int, before: str | None = None) -> FoundDeliveries:
        """Those that are older than the one named ``before``.

        By answer it ends early, with fewer than ``limit``, when it has looked at MOST_READ.
        """
        found: list[Delivery] = []
        looked_at = 0
        with reading():
            candidates = self._candidates(before)
            while part := list(islice(candidates, PART)):
                for row in self._answered(part):
                    if len(found) == limit:
                        return FoundDeliveries(found, found[-1].id)
                    found.append(row)
                looked_at += len(part)
                if self.answer and looked_at >= MOST_READ:
                    return FoundDeliveries(found, part[-1].id)
        return FoundDeliveries(found, None)

    def total(self) -> int | None:
        """How many match, where they need not be counted."""
        if self.answer or self.contact_ids is not None or self.since or self.until:
            return None
        return sum(self._tallied().values())

    def _tallied(self) -> Counter[tuple[str, str]]:
        """How many there are of each webhook and state, whatever the answer, person and time."""
        tally = DeliveryTally
        sums = tally.select(tally.webhook_id, tally.state, fn.SUM(tally.total))
        sums = sums.where(tally.webhook_id.in_(self.webhook_ids))
        if self.state is not None:
            sums = sums.where(tally.state == self.state)
        if self.kind is not None:
            sums = sums.where(tally.event_kind == self.kind)
        with reading():
            rows: Any = sums.group_by(tally.webhook_id, tally.state).tuples()
            return Counter({(webhook_id, state): int(total) for webhook_id, state, total in rows})

    def _candidates(self, before: str | None) -> Iterator[Delivery]:
        conditions = Delivery.conditions(self.state, self.kind, self.since, self.until)
        if self.contact_ids is not None:
            about = is_among(Delivery.id, _ids_about(self.contact_ids))
            of_ours = Delivery.webhook.in_(self.webhook_ids)
            return _pages((about, of_ours, *conditions), before)
        tallied = self._tallied()
        sources = []
        for webhook_id, (kind, states) in product(self.webhook_ids, self._kinds()):
            # Past the last match the database would scan all remaining rows.
            if most := sum(tallied[webhook_id, state] for state in states):
                found = _pages((Delivery.webhook == webhook_id, *conditions, *kind), before)
                sources.append(islice(found, most))
        return merge(*sources, key=lambda row: row.id, reverse=True)

    def _kinds(self) -> list[tuple[list[Any], Sequence[str]]]:
        """Conditions, each with an index, and their states: those in which a delivery has such an answer."""
        if self.answer is None or self.state is not None:
            return [([], [*DeliveryState])]
        if self.answer == ANSWERS[0]:
            return [([Delivery.state == DeliveryState.DELIVERED], [DeliveryState.DELIVERED])]
        undelivered = [IS_UNDELIVERED], [DeliveryState.FAILED, DeliveryState.SKIPPED]
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
    with reading():
        attempts = list(Attempt.select().where(Attempt.delivery.in_(ids)))
    # Of several of one delivery the last one stays.
    return {each.delivery_id: each for each in sorted(attempts, key=lambda each: each.id)}


def people_of(rows: Sequence[Delivery]) -> dict[str, tuple[Contact | None, str]]:
    """Whom deliveries are about, by their identifier: the contact, and what a message went to or came from.

    Nothing for those that are about no person.
    """
    with reading():
        events = Event.select(Event.id, Event.subject_id)
        subjects = {
            e.id: e.subject_id for e in events.where(Event.id.in_([row.event_id for row in rows]))
        }
        wanted = list(set(subjects.values()))
        messages = {row.id: row for row in Message.select().where(Message.id.in_(wanted))}
        named = [*wanted, *(message.contact_id for message in messages.values())]
        contacts = Contact.rows_of(named)
    people: dict[str, tuple[Contact | None, str]] = {}
    for row in rows:
        subject = subjects.get(row.event_id, "")
        if message := messages.get(subject):
            people[row.id] = contacts.get(message.contact_id or ""), message.other_party
        elif contact := contacts.get(subject):
            people[row.id] = contact, contact.phone or ""
    return people


def _pages(conditions: Sequence[Any], before: str | None) -> Iterator[Delivery]:
    """What meets the conditions, newest first, read in parts."""
    query = Delivery.select().where(*conditions).order_by(Delivery.id.desc()).limit(PART)
    below = before
    while True:
        rows = list(query if below is None else query.where(Delivery.id < below))
        yield from rows
        if len(rows) < PART:
            return
        below = rows[-1].id


def _ids_about(contact_ids: Sequence[str]) -> Any:
    """The deliveries of events about these persons, and about messages with them."""
    messages = Message.select(Message.id).where(IS_PERSONS, Message.contact_id.in_(contact_ids))
    subjects = messages | Contact.select(Contact.id).where(Contact.id.in_(contact_ids))
    events = Event.select(Event.id).where(is_among(Event.subject_id, subjects))
    same = Delivery.alias()
    return same.select(same.id).where(is_among(same.event, events))

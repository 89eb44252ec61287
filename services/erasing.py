"""Erasing people (models.messages.erasure; docs/decisions/0077-erasure-in-batches.md).

A request removes the contact and its newest messages. Workers remove the rest in slices, and accounts take
turns. A slice consists of batches: each is a short transaction, followed by a pause. Every batch can be
repeated.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from models import clock
from models.accounts.api_request import ApiRequest
from models.database import contains, database_now, empty_log, exclusively, fetch, reading
from models.messages import search
from models.messages.callback import Callback, Reason, SetAside
from models.messages.contact import Contact
from models.messages.erasure import CLEANING, LEASE_MS, Erasure
from models.messages.message import Message
from models.numbers.notice import Notice
from networks.items import Part
from networks.registry import parse
from services.mentions import Person, is_in_text, people_of

logger = logging.getLogger(__name__)

# The longest time that a slice takes, and after which the worker cleans the files.
SLICE_SECONDS, ROUND_SECONDS = 0.25, 1.0
# The pause between two batches, in which other writers run.
PAUSE_SECONDS = 0.01
# The number of tries to empty SQLite's log, which a reader may need for long.
MOST_TRIES = 4
# The pause before the next round, if it needs it for longer.
READER_PAUSE_SECONDS = 1.0
# Rows of a batch. A raw callback has up to 4 MiB.
FEW, MANY = 20, 1_000
# Rows of which the database looks for the person in one query. It takes some 20 ms.
MOST_SCANNED = 20_000
MESSAGE_ID = "waMessageId"
Rows = list[Any]
# The removed rows by kind, and the place at which the step continues, None at its end.
Batch = tuple[Counter[str], str | None]
# Rows that mention the person, each with the items that replace it.
Replaced = Sequence[tuple[Any, list[Part]]]


def erase_now(contact: Contact) -> Counter[str]:
    """Erase a person, and return when nothing is left: the number of removed rows by kind."""
    erasure, removed = Erasure.begin(contact, LEASE_MS)
    while erasure.step != CLEANING:
        removed += _slice(erasure, LEASE_MS)
    return removed + finish(erasure)


def finish(erasure: Erasure) -> Counter[str]:
    """Continue an erasure, in turn with workers, until nothing is left."""
    removed: Counter[str] = Counter()
    while (row := Erasure.by_id(erasure.id)) is not None:
        if row.step == CLEANING:
            clean()
        elif claimed := row.claim_this():
            removed += _slice(claimed)
        time.sleep(PAUSE_SECONDS)
    return removed


class _Turns:
    """Gives each account with an erasure its turn in this process."""

    _last = ""

    def claim(self) -> Erasure | None:
        """Claim an erasure of the account after the last one, None if none is due."""
        claimed = Erasure.claim_after(self._last)
        if claimed is None and self._last:
            claimed = Erasure.claim_after("")
        self._last = claimed.account_id if claimed else ""
        return claimed


_turns = _Turns()


def work_off() -> bool:
    """One round: a slice of each account in turn, then cleaning. Returns whether another one is due."""
    Erasure.recall(LEASE_MS)
    until = time.monotonic() + ROUND_SECONDS
    erasure = None
    while time.monotonic() < until and (erasure := _turns.claim()):
        _slice(erasure)
    if clean():
        return erasure is not None
    time.sleep(READER_PAUSE_SECONDS)
    return True


def _slice(erasure: Erasure, lease_ms: int = 0) -> Counter[str]:
    """Remove rows for SLICE_SECONDS. The caller has the lease, and with ``lease_ms`` has it afterwards."""
    until = time.monotonic() + SLICE_SECONDS
    work, removed = _Work(erasure), Counter[str]()
    while erasure.step != CLEANING:
        batch = work.remove_batch()
        removed += batch
        if time.monotonic() >= until:
            break
        if batch:
            time.sleep(PAUSE_SECONDS)
    erasure.release(database_now() + lease_ms)
    return removed


def clean() -> bool:
    """Remove copies of removed rows from the database's files, for all erasures that are left with these.

    Returns False if it must be repeated, because a reader of SQLite needs the log for long.
    """
    cleaned = Erasure.cleaning()
    if not cleaned:
        return True
    ids = [erasure.id for erasure in cleaned]
    # Their own rows name the people, too.
    Erasure.forget(ids)
    while search.merge():
        time.sleep(PAUSE_SECONDS)
    for _ in range(MOST_TRIES):
        if empty_log():
            Erasure.finish(ids)
            for erasure in cleaned:
                logger.info("contact %s is erased", erasure.contact_id)
            return True
        time.sleep(PAUSE_SECONDS)
    return False


class _Work:
    """Removes the rows of an erasure batch by batch, and notes in the erasure how far it is."""

    def __init__(self, erasure: Erasure) -> None:
        self._erasure = erasure
        self._person = Person(erasure)
        # Messages are first, because their deliveries may be pending.
        self._steps: dict[str, Callable[[str], Batch]] = {
            "messages": self._remove_messages,
            "callbacks": self._remove_callbacks,
            "items": self._remove_items,
            "unindexed items": self._remove_unindexed,
            "requests": self._remove_requests,
            "notices": self._remove_notices,
        }

    def remove_batch(self) -> Counter[str]:
        """Remove one batch. Returns the number of rows by kind."""
        names = [*self._steps, CLEANING]
        step = self._erasure.step or names[0]
        removed, place = self._steps[step](self._erasure.place or "")
        self._erasure.step = step if place is not None else names[names.index(step) + 1]
        self._erasure.place = place
        return +removed

    def _remove_messages(self, _place: str) -> Batch:
        removed = self._erasure.remove_messages()
        return removed, "" if removed else None

    def _remove_callbacks(self, place: str) -> Batch:
        """Those that wait. A worker of 1.0.0 leaves ingested ones for the sweep."""
        before = Callback.select().where(Callback.received_at <= self._erasure.created_at)
        known = map(str.encode, self._person.known_ids)
        rows, place_after = _scan(before, place, FEW, [contains(Callback.body, k) for k in known])
        return Counter(callbacks=self._replace(_replace_callbacks, rows)), place_after

    def _remove_items(self, place: str) -> Batch:
        """Those that the index leads to."""
        wanted = SetAside.mentioning(self._person.known_ids)
        older = wanted.where(SetAside.id > place, SetAside.created_at <= self._erasure.created_at)
        rows = fetch(older.order_by(SetAside.id).limit(FEW))
        removed = Counter(itemsSetAside=self._replace(_replace_aside, rows))
        return removed, rows[-1].id if rows else None

    def _remove_unindexed(self, place: str) -> Batch:
        older = SetAside.unindexed().where(SetAside.created_at <= self._erasure.created_at)
        known = map(str.encode, self._person.known_ids)
        rows, place_after = _scan(older, place, FEW, [contains(SetAside.body, k) for k in known])
        return Counter(itemsSetAside=self._replace(_replace_aside, rows)), place_after

    def _replace(self, replace: Callable[[Replaced], None], rows: Rows) -> int:
        """Remove callbacks or items set aside. Of work to do, the items of other people are kept."""
        found = []
        for row in rows:
            parts = parse(bytes(row.body), clock.now())
            kept = [part for part in parts if not self._person.owns(part)]
            if len(kept) < len(parts):
                found.append((row, kept))
        if found:
            replace(found)
        return len(found)

    def _remove_requests(self, place: str) -> Batch:
        """Requests that name the person, or one of the person's messages by ``waMessageId``.

        WhatsApp's message ids contain the phone number. A row is kept if the message exists.
        """
        wanted = [*self._person.known_ids, *self._erasure.contact_ids]
        columns = ApiRequest.path, ApiRequest.query, ApiRequest.error_json
        rows, place_after = _scan(
            ApiRequest.select().where(
                ApiRequest.account == self._erasure.account_id, self._is_older(ApiRequest, "arq")
            ),
            place,
            MANY,
            [
                *(contains(column, each) for column in columns for each in wanted),
                contains(ApiRequest.query, MESSAGE_ID),
            ],
        )
        asked = {row.id: set(parse_qs(row.query).get(MESSAGE_ID, [])) for row in rows}
        named = Message.wa_message_id.in_(list(set().union(*asked.values())))
        ours = Message.account == self._erasure.account_id
        query = Message.select(Message.wa_message_id).where(named, ours)
        present = {row.wa_message_id for row in fetch(query)}
        is_named = is_in_text(wanted)
        found = [
            row
            for row in rows
            if asked[row.id] - present
            or any(map(is_named, (row.path, unquote_plus(row.query), row.error_json or "")))
        ]
        return Counter(apiRequests=_delete(ApiRequest, found)), place_after

    def _remove_notices(self, place: str) -> Batch:
        rows, place_after = _scan(
            Notice.select().where(
                Notice.waba_id == self._person.waba_id, self._is_older(Notice, "ntc")
            ),
            place,
            MANY,
            [contains(Notice.value_json, each) for each in self._person.known_ids],
        )
        found = [row for row in rows if self._person.is_in_notice(row.value_json)]
        return Counter(notices=_delete(Notice, found)), place_after

    def _is_older(self, model: Any, prefix: str) -> Any:
        """The condition that a row is from before the erasure. What comes later must not be lost."""
        return model.id < clock.id_bound(prefix, self._erasure.created_at + 1)


def _scan(rows: Any, place: str, limit: int, conditions: Sequence[Any]) -> tuple[Rows, str | None]:
    """The next rows of a query that meet one of the conditions, and the place at which to continue.

    It looks at MOST_SCANNED rows, and takes no lock.
    """
    if not conditions:
        return [], None
    model = rows.model
    left = rows.where(model.id > place).order_by(model.id)
    with reading():
        last = left.select(model.id).offset(MOST_SCANNED - 1).limit(1).scalar()
        if last is not None:
            left = left.where(model.id <= last)
        found = list(left.where(reduce(or_, conditions)).limit(limit))
    return found, found[-1].id if len(found) == limit else last


@exclusively
def _replace_callbacks(found: Replaced) -> None:
    _delete(Callback, [row for row, _ in found])
    for row, kept in found:
        if row.ingested_at is None:
            Callback.store(*(part.body() for part in kept), received_at=row.received_at)


@exclusively
def _replace_aside(found: Replaced) -> None:
    _delete(SetAside, [row for row, _ in found])
    for row, kept in found:
        for part in kept if row.settled_at is None else ():
            known = {"error": row.error, "created_at": row.created_at}
            SetAside.record(Reason(row.reason), part.body(), people_of(part), **known)


def _delete(model: Any, rows: Rows) -> int:
    query = model.delete().where(model.id.in_([row.id for row in rows]))
    return int(exclusively(query.execute)()) if rows else 0

"""Erasing people in batches (models.messages.erasure; docs/decisions/0077-erasure-in-batches.md).

Each batch is a short transaction, followed by a pause. A request works for up to MOST_SECONDS, which is
enough for most people. The worker does the rest, also after a kill. Every step can be repeated.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from models import clock
from models.accounts.api_request import ApiRequest
from models.database import database_now, empty_log, exclusively, reading
from models.messages import search
from models.messages.callback import Callback, Reason, SetAside
from models.messages.contact import Contact
from models.messages.erasure import LEASE_MS, Erasure
from models.messages.message import Message
from models.numbers.notice import Notice
from models.numbers.number import Number
from networks.items import AccountUpdate, Part, PlatformNotice
from networks.registry import parse
from services import doorbells

logger = logging.getLogger(__name__)

# The longest time that a request works on an erasure.
MOST_SECONDS = 2.0
# The number of tries to empty SQLite's log, which a reader may need for some milliseconds.
MOST_TRIES = 20
# The pause between two batches.
PAUSE_SECONDS = 0.01
# Rows of a page. A raw callback has up to some hundred kilobytes.
FEW, MANY = 100, 1_000
Rows = list[Any]
# Rows that mention the person, each with the bodies that replace it.
Replaced = Sequence[tuple[Any, list[bytes]]]


def erase(contact: Contact, seconds: float | None = MOST_SECONDS) -> Counter[str]:
    """Erase a person. Returns the number of removed rows by kind.

    The contact is gone on return. After ``seconds`` the worker removes the rest; None sets no limit.
    """
    until = None if seconds is None else time.monotonic() + seconds
    erasure, removed = Erasure.begin(contact)
    return removed + resume(erasure, until)


def resume(erasure: Erasure, until: float | None = None) -> Counter[str]:
    """Continue an erasure, to its end or until a time of time.monotonic(). The caller has the lease."""
    removed: Counter[str] = Counter()
    for batch in _batches(erasure):
        removed += batch
        if until is not None and time.monotonic() > until:
            # A worker continues at once.
            erasure.amend(due_at=0)
            doorbells.erasures.ring()
            return removed
        erasure.amend(due_at=database_now() + LEASE_MS)
        # Other writers run between two batches.
        time.sleep(PAUSE_SECONDS)
    erasure.finish()
    # Remove copies of the rows from SQLite's log. If that fails, later writes overwrite them.
    for _ in range(MOST_TRIES):
        if empty_log():
            break
        time.sleep(PAUSE_SECONDS)
    logger.info("contact %s is erased", erasure.contact_id)
    return removed


def work_off() -> None:
    """Finish the erasures that requests left to the worker, or that a kill interrupted."""
    Erasure.recall(LEASE_MS)
    while erasure := Erasure.claim(LEASE_MS):
        resume(erasure)


def _batches(erasure: Erasure) -> Iterator[Counter[str]]:
    """Remove one batch at each step. Messages are first, because their deliveries may be pending."""
    while batch := erasure.remove_messages():
        yield batch
    yield from _remove_records(erasure)
    while search.merge():
        yield Counter()


def _remove_records(erasure: Erasure) -> Iterator[Counter[str]]:
    """Remove records that mention the person. Yields the number of removed rows for each page.

    No index finds these rows by person. So all rows are read, in pages and without a lock.
    """
    person = _Person(erasure)
    theirs, about = ApiRequest.account == erasure.account_id, Notice.waba_id == person.waba_id
    for kind, rows, remove_from in (
        ("callbacks", _rows(erasure, Callback, "cb"), partial(person.replace, _replace_callbacks)),
        ("itemsSetAside", _rows(erasure, SetAside, "sa"), partial(person.replace, _replace_aside)),
        ("apiRequests", _rows(erasure, ApiRequest, "arq", theirs), person.remove_requests),
        ("notices", _rows(erasure, Notice, "ntc", about), person.remove_notices),
    ):
        for page in _pages(rows, MANY if rows.model is ApiRequest else FEW):
            yield +Counter({kind: remove_from(page)})


def _rows(erasure: Erasure, model: Any, prefix: str, *conditions: Any) -> Any:
    """The query for the rows from before the erasure. A later message of the person must not be lost."""
    end = clock.id_bound(prefix, erasure.created_at + 1)
    return model.select().where(model.id < end, *conditions).order_by(model.id)


def _pages(rows: Any, size: int) -> Iterator[Rows]:
    """All rows, in pages of ``size``."""
    after = ""
    while True:
        with reading():
            page = list(rows.where(rows.model.id > after).limit(size))
        if not page:
            return
        yield page
        after = page[-1].id


class _Person:
    """The person of an erasure. Removes the rows of a page that mention the person."""

    def __init__(self, erasure: Erasure) -> None:
        self._erasure = erasure
        self._known = _mentions(erasure.known_ids)
        self._in_requests = _mentions([*erasure.known_ids, *erasure.contact_ids])
        numbers = Number.all()
        self.waba_id = Number.get_by_id(erasure.number_id).waba_id
        self._others = {each.phone_number_id for each in numbers if each.id != erasure.number_id}
        # A notice names our number that it is about. That number may also be a contact of another one.
        ours = {each.phone_number for each in numbers}
        self._in_notices = _mentions([each for each in erasure.known_ids if each not in ours])

    def replace(self, replace: Callable[[Replaced], None], page: Rows) -> int:
        """Remove callbacks and items set aside. Of work to do, the items of other people are kept."""
        kept = [(row, self._of_others(bytes(row.body))) for row in page]
        found = [(row, bodies) for row, bodies in kept if bodies is not None]
        if found:
            replace(found)
        return len(found)

    def _of_others(self, body: bytes) -> list[bytes] | None:
        """The callback's items of other people, or None if it has no item of the person."""
        if not self._known(body.decode(errors="replace")):
            return None
        parts = parse(body, clock.now())
        kept = [part.body() for part in parts if not self._is_theirs(part)]
        return None if parts and len(kept) == len(parts) else kept

    def _is_theirs(self, part: Part) -> bool:
        """Whether an item mentions the person and is not about another number or business account."""
        text = part.body().decode(errors="replace")
        if isinstance(part.item, AccountUpdate | PlatformNotice):
            return part.item.waba_id == self.waba_id and self._in_notices(text)
        is_anothers = getattr(part.item, "phone_number_id", None) in self._others
        return not is_anothers and self._known(text)

    def remove_requests(self, page: Rows) -> int:
        """Remove requests that name the person or one of the person's messages by ``waMessageId``.

        WhatsApp's message ids contain the phone number. A row is kept if the message exists.
        """
        asked = {row.id: set(parse_qs(row.query).get("waMessageId", [])) for row in page}
        present = self._present({wamid for wamids in asked.values() for wamid in wamids})
        found = [
            row
            for row in page
            if asked[row.id] - present
            or any(
                map(self._in_requests, (row.path, unquote_plus(row.query), row.error_json or ""))
            )
        ]
        return _delete(ApiRequest, found)

    def _present(self, wamids: set[str]) -> set[str]:
        ours = Message.account == self._erasure.account_id
        query = Message.select(Message.wa_message_id).where(
            Message.wa_message_id.in_(list(wamids)), ours
        )
        with reading():
            return {str(row.wa_message_id) for row in query}

    def remove_notices(self, page: Rows) -> int:
        return _delete(Notice, [row for row in page if self._in_notices(row.value_json)])


def _mentions(identifiers: list[str]) -> Callable[[str], bool]:
    """A test whether a text contains one of the identifiers as a whole word."""
    if not identifiers:
        return lambda _text: False
    either = "|".join(map(re.escape, identifiers))
    pattern = re.compile(f"(?<![0-9A-Za-z])(?:{either})(?![0-9A-Za-z])")
    return lambda text: pattern.search(text) is not None


@exclusively
def _replace_callbacks(found: Replaced) -> None:
    _delete(Callback, [row for row, _ in found])
    for row, kept in found:
        if row.ingested_at is None:
            Callback.store(*kept)


@exclusively
def _replace_aside(found: Replaced) -> None:
    _delete(SetAside, [row for row, _ in found])
    for row, kept in found:
        for body in kept if row.settled_at is None else ():
            SetAside.record(Reason(row.reason), body, error=row.error)


def _delete(model: Any, rows: Rows) -> int:
    query = model.delete().where(model.id.in_([row.id for row in rows]))
    return int(exclusively(query.execute)()) if rows else 0

"""Erasing people in batches (models.messages.erasure; docs/decisions/0077-erasure-in-batches.md).

Each batch is a short transaction, followed by a pause. A request works for up to MOST_SECONDS, which is
enough for most people. The worker does the rest, also after a kill. Every step can be repeated.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator

from models.database import empty_log
from models.messages import search
from models.messages.contact import Contact
from models.messages.erasure import LEASE_MS, Erasure
from services import doorbells, person_records

logger = logging.getLogger(__name__)

# The longest time that a request works on an erasure.
MOST_SECONDS = 2.0
# The number of tries to empty SQLite's log, which a reader may need for some milliseconds.
MOST_TRIES = 20
# The pause between two batches.
PAUSE_SECONDS = 0.01


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
            erasure.release()
            doorbells.erasures.ring()
            return removed
        erasure.hold()
        # Other writers run between two batches.
        time.sleep(PAUSE_SECONDS)
    erasure.finish()
    _empty_log()
    logger.info("contact %s is erased", erasure.contact_id)
    return removed


def work_off() -> None:
    """Finish the erasures that requests left to the worker, or that a kill interrupted."""
    Erasure.recall(LEASE_MS)
    while erasure := Erasure.claim(LEASE_MS):
        resume(erasure)


def _empty_log() -> None:
    """Remove copies of the rows from SQLite's log. If that fails, later writes overwrite them."""
    for _ in range(MOST_TRIES):
        if empty_log():
            return
        time.sleep(PAUSE_SECONDS)


def _batches(erasure: Erasure) -> Iterator[Counter[str]]:
    """Remove one batch at each step. Messages are first, because their deliveries may be pending."""
    while batch := erasure.remove_messages():
        yield batch
    yield from person_records.remove(erasure)
    while search.merge():
        yield Counter()

"""Erasure of people, step by step (models.erasure; docs/decisions/0077-erasure-in-batches.md).

Each batch is a short transaction with a pause behind it. The caller of ``erase`` does what fits into
MOST_SECONDS, which is all of it for nearly everybody. The worker does the rest, also after a kill: each step
begins with what is there, so it may run again.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from models import search
from models.contact import Contact
from models.erasure import Erasure
from tasks import traces
from tasks.queue import Doorbell
from tasks.retention import PAUSE_SECONDS

logger = logging.getLogger(__name__)

# A request waits for no more.
MOST_SECONDS = 2.0

# Ring it when an erasure has a rest.
bell = Doorbell("erasures")


def erase(contact: Contact, seconds: float | None = MOST_SECONDS) -> Counter[str]:
    """Erase a person. Returns how many rows of each kind were removed within so many seconds.

    No request can read the contact after the return, and no event about it begins. None is all the time.
    """
    until = None if seconds is None else time.monotonic() + seconds
    erasure, removed = Erasure.begin(contact)
    return removed + resume(erasure, until)


def resume(erasure: Erasure, until: float | None = None) -> Counter[str]:
    """Go on with an erasure that the caller holds, to its end or to a time of time.monotonic()."""
    removed: Counter[str] = Counter()
    for batch in _batches(erasure):
        removed += batch
        if until is not None and time.monotonic() > until:
            erasure.release()
            bell.ring()
            return removed
        erasure.hold()
        # Other writers get their turn between two batches.
        time.sleep(PAUSE_SECONDS)
    erasure.finish()
    logger.info("contact %s is erased", erasure.contact_id)
    return removed


def work_off() -> None:
    """Finish the erasures that nobody works on."""
    while erasure := Erasure.claim():
        resume(erasure)


def _batches(erasure: Erasure) -> Iterator[Counter[str]]:
    """Remove batch after batch. Messages first: their events may wait to be delivered."""
    return chain(_messages(erasure), traces.remove(erasure), _index())


def _messages(erasure: Erasure) -> Iterator[Counter[str]]:
    while batch := erasure.remove_messages():
        yield batch


def _index() -> Iterator[Counter[str]]:
    while search.merge():
        yield Counter()

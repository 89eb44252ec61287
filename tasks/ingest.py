"""Ingests stored callbacks: those that were not ingested when they arrived (services.receiving).

Each is tried again after a pause, and set aside after its last try.
"""

import logging
from collections.abc import Sequence

from opentelemetry.trace import StatusCode

from models import doorbells
from models.database import exclusively, reading, writing
from models.database.outage import is_outage
from models.deliveries.attempt import NO_OUTCOME
from models.messages.callback import LEASE_MS, MAX_TRIES, Callback, Reason, SetAside
from models.messages.erasure import Erasure
from models.work import MOST_IN_A_ROUND
from networks.items import AppMessage, Part
from services.ingestion import (
    MOST_TOGETHER,
    GoneError,
    ingest_each,
    ingest_together,
    ingesting,
    read,
)
from services.mentions import words_of

logger = logging.getLogger(__name__)

# The bytes after which a claim takes no further callback. Parsed, they take many times as much memory.
MAX_BYTES_TOGETHER = 1 << 20
# The most items of a callback with history that are ingested together.
MOST_PARTS = 100


def work_off() -> None:
    # One connection for all claims.
    with reading():
        for _ in range(MOST_IN_A_ROUND):
            claimed = Callback.claim_many(LEASE_MS, MOST_TOGETHER, MAX_BYTES_TOGETHER)
            size = sum(len(each.body) for each in claimed)
            is_full = len(claimed) == MOST_TOGETHER or size >= MAX_BYTES_TOGETHER
            are_new = all(each.tries == 1 for each in claimed)
            if claimed:
                _ingest(claimed)
            if are_new and not is_full:
                # No callback is left, except those of dead workers that Callback.recall_dead has yet to put
                # first. A smaller claim with a retried callback does not prove that, because a retried one
                # may be claimed alone.
                return
    doorbells.callbacks.ring()


def _ingest(callbacks: Sequence[Callback]) -> None:
    """Ingest claimed callbacks."""
    if callbacks[0].tries > MAX_TRIES:
        _set_aside_whole(callbacks[0])
        return
    left = [each for each in read(callbacks) if not _divide(*each)]
    try:
        while left:
            left = left[ingest_together(left, are_stored=True) :]
    except Exception as problem:
        if is_outage(problem):
            # Not the callbacks' failure: they are claimed again when the lease ends.
            raise
        logger.warning(
            "ingesting %d callbacks together failed; ingesting them one by one",
            len(left),
            exc_info=not isinstance(problem, GoneError),
        )
        for each in left:
            _ingest_alone(*each)


def _divide(callback: Callback, parts: Sequence[Part]) -> bool:
    """Replace a callback with much history by one for each item. Returns whether it did.

    It may have thousands of messages, and all writers of SQLite would wait for the end of its transaction.
    """
    if len(parts) <= MOST_PARTS or not any(isinstance(each.item, AppMessage) for each in parts):
        return False
    bodies = [part.body() for part in parts]

    @exclusively
    def replace() -> None:
        # It may be gone, because a person in it was erased. Then the rest of it is another callback.
        if Callback.finish(callback.id):
            Callback.store(*bodies, received_at=callback.received_at)

    replace()
    return True


def _set_aside_whole(lost: Callback) -> None:
    """Set a callback aside unread: workers died or froze with it, perhaps because of it."""
    body = bytes(lost.body)
    people = words_of(body)
    with writing():
        if Erasure.among(people):
            # The erasure replaces it, and what is left comes again.
            return
        if Callback.finish(lost.id):
            SetAside.record(Reason.FAILED, body, people, error=NO_OUTCOME)
        else:
            logger.info("%s is gone", lost.id)


def _ingest_alone(callback: Callback, parts: Sequence[Part]) -> None:
    """Ingest a callback, and try it again later if an item fails."""
    is_last = callback.tries == MAX_TRIES
    with ingesting(callback, parts) as span:
        _, error = ingest_each(callback, parts, is_last=is_last)
        if error:
            span.set_status(StatusCode.ERROR)
    if error and not is_last:
        callback.postpone(error)
    else:
        with writing():
            Callback.finish(callback.id)

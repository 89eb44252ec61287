"""Retention: what is older than RETENTION_DAYS is removed, a little in each round of the sweep.

Each batch is a short transaction with a pause behind it, so that no other writer waits for long.
"""

import logging
import time
from collections.abc import Callable
from functools import partial

from gateway.settings import get_settings
from models import clock
from models.retention import (
    DELIVERIES,
    EVENTS,
    INGESTED_CALLBACKS,
    MESSAGES,
    NOTICES,
    SET_ASIDE,
    SIGN_IN_ATTEMPTS,
    SIGNUPS,
    USER_SESSIONS,
    remove_deleted,
)

logger = logging.getLogger(__name__)

DAY_MS = 24 * 3_600_000
BATCH_SIZE = 200
# Of each kind, in one round.
MAX_BATCHES = 10
PAUSE_SECONDS = 0.01
# An ingested callback is of use only to an operator who looks into yesterday's problem.
CALLBACK_LIFETIME_MS = DAY_MS
# No session lives for so long, and no attempt to sign in counts any more.
SIGN_IN_LIFETIME_MS = DAY_MS


def remove_old() -> None:
    """One round: of each kind the oldest, at most MAX_BATCHES; the next sweep goes on."""
    now = clock.now()
    before = now - get_settings().retention_days * DAY_MS
    for removal, border in (
        (DELIVERIES, before),
        (MESSAGES, before),
        (EVENTS, before),
        (SIGNUPS, before),
        (NOTICES, before),
        (INGESTED_CALLBACKS, now - CALLBACK_LIFETIME_MS),
        (SET_ASIDE, before),
        (USER_SESSIONS, now - SIGN_IN_LIFETIME_MS),
        (SIGN_IN_ATTEMPTS, now - SIGN_IN_LIFETIME_MS),
    ):
        _remove(f"old {removal.name}", partial(removal.remove, border))
    _remove("rows of deleted webhooks", remove_deleted)


def _remove(what: str, remove: Callable[[int], int]) -> None:
    removed = 0
    for _ in range(MAX_BATCHES):
        batch = remove(BATCH_SIZE)
        removed += batch
        if batch < BATCH_SIZE:
            break
        # Other writers get their turn between two batches.
        time.sleep(PAUSE_SECONDS)
    if removed:
        logger.info("%d %s removed", removed, what)

"""Adds messages to the full-text index in the background (models.messages.search)."""

import time

from models import clock
from models.messages import search

# All messages older than this are committed. The margin also covers clock differences between hosts.
SETTLED_MS = 60_000
# Time until an incomplete block is written. Retention removes a block with its first message.
PATIENCE_MS = 3_600_000
BATCH_SIZE = 1_024
# The batches of one round. The database of an older release has many messages to add.
MAX_BATCHES = 20
PAUSE_SECONDS = 0.02


def work_off() -> None:
    """One round: add the waiting messages in batches."""
    now = clock.now()
    for _ in range(MAX_BATCHES):
        if not search.add(now - SETTLED_MS, now - PATIENCE_MS, BATCH_SIZE):
            break
        # Lets other writers in between two batches.
        time.sleep(PAUSE_SECONDS)

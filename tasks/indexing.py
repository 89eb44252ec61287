"""Adding messages to the index of their words, in the background (models.search)."""

import time

from models import clock, search

# Older messages are committed by now. The margin also covers hosts whose clocks differ.
SETTLED_MS = 60_000
# An incomplete block is written after this time. Retention removes a block with its first message.
PATIENCE_MS = 3_600_000
BATCH_SIZE = 1_024
# In one round: an older database has many to add.
MAX_BATCHES = 20
PAUSE_SECONDS = 0.02


def work_off() -> None:
    """One round: add what waits, in batches."""
    now = clock.now()
    for _ in range(MAX_BATCHES):
        if not search.add(now - SETTLED_MS, now - PATIENCE_MS, BATCH_SIZE):
            break
        # Other writers get their turn between two batches.
        time.sleep(PAUSE_SECONDS)

"""Redelivery of many, in the background: batch after batch, each a short transaction.

The batches are rows (models.redelivery). The task is only their alarm clock, and the sweep takes what
is left.
"""

import logging
import time

from models.redelivery import Redelivery
from tasks import deliver
from tasks.queue import huey

logger = logging.getLogger(__name__)

# A round ends soon enough for a worker that is told to stop.
MAX_BATCHES = 20
PAUSE_SECONDS = 0.005


@huey.task()
def schedule_redeliveries() -> None:
    """Work off what waits."""
    work_off()


def wake() -> None:
    """Say that redeliveries wait."""
    try:
        schedule_redeliveries()
    except Exception:
        # The rows are committed; the sweep finds them without the queue.
        logger.exception("redelivery not queued")


def work_off() -> None:
    """Schedule batches until none is left, at most MAX_BATCHES; the next sweep goes on."""
    for _ in range(MAX_BATCHES):
        if Redelivery.work_off_one() is None:
            return
        deliver.wake()
        # Other writers get their turn between two batches.
        time.sleep(PAUSE_SECONDS)

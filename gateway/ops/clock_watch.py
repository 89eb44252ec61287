"""Compares the clocks of a web process every few seconds, in a thread. The worker has a round for that."""

import logging
import threading
import time

from models.database import known_time

logger = logging.getLogger(__name__)


def watch_clock() -> None:
    """Compare now, and from now on until the process ends."""
    _look()
    threading.Thread(target=_watch, name="clock", daemon=True).start()


def _watch() -> None:
    while True:
        time.sleep(known_time.LOOK_SECONDS)
        _look()


def _look() -> None:
    try:
        known_time.look()
    except Exception:
        # The database may be unreachable. The steady clock continues.
        logger.exception("the clocks were not compared; tried again")

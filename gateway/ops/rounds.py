"""Threads that repeat their work: the worker's rounds, and the comparison of clocks in a web process."""

import logging
import threading
import time
from collections.abc import Callable

from models import database
from tasks.queue import Doorbell

logger = logging.getLogger(__name__)


class Rounds(threading.Thread):
    """Runs ``work`` at once, then each time ``bell`` is set, and at least every ``interval`` seconds.

    If ``work`` returns True, the next round begins at once. An error ends only its round. ``patience`` is the
    longest time in seconds that a round may take without using the database, in addition to the watchdog's.
    """

    def __init__(
        self,
        work: Callable[[], bool | None],
        interval: float,
        bell: Doorbell | None = None,
        patience: float = 0,
    ) -> None:
        super().__init__(name=work.__module__, daemon=True)
        self.patience = patience
        self._work = work
        self._began_at: float | None = None
        self._interval = interval
        self._woken = threading.Event()
        self._stopping = False
        if bell is not None:
            bell.worker = self._woken.set

    def run(self) -> None:
        while True:
            # Clear first: work that is committed after this line sets it again.
            self._woken.clear()
            if self._stopping:
                return
            if not self.run_once():
                self._woken.wait(self._interval)

    def run_once(self) -> bool | None:
        """Run one round. Returns what ``work`` does, None if it fails."""
        self._began_at = time.monotonic()
        try:
            return self._work()
        except Exception:
            logger.exception("%s failed; it is tried again", self.name)
            return None
        finally:
            self._began_at = None

    def busy_since(self) -> float | None:
        """When the running round last used the database, or began. None between two rounds."""
        began_at = self._began_at
        return began_at and max(began_at, database.last_progress(self.ident or 0))

    def stop(self) -> None:
        """End after the current round. Does nothing if it never started."""
        self._stopping = True
        self._woken.set()
        if self.is_alive():
            self.join()

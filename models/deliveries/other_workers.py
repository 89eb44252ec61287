"""Finds workers that died, and makes what they had claimed due at once (ADR 6).

Without it, their deliveries would wait for the end of the lease.
"""

import logging
from typing import Any

from peewee import fn

from models import clock
from models.database import Prepared, database_time, write
from models.database.heartbeat import Heartbeat
from models.deliveries.delivery import CLAIMS, Delivery

logger = logging.getLogger(__name__)

# Seconds between two heartbeats of a worker.
BEAT_SECONDS = 2.0
# A worker counts as dead if so many looks in a row see no new heartbeat. Looks are heartbeats too: while the
# database is slow for all workers, none of them counts.
MOST_MISSED = 3


@Prepared
def _release(worker: Any, length: Any, now: Any) -> Any:
    """The first condition reads an index of the claimed deliveries only."""
    is_its = fn.SUBSTR(Delivery.lease_token, 1, length) == worker
    now = database_time(now)
    is_claimed = Delivery.lease_token.is_null(False), Delivery.due_at > now
    return Delivery.update(due_at=now).where(*is_claimed, is_its)


class OtherWorkers:
    """Watches the others. ``worker`` is the name of this one, with which its lease tokens begin."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        # When each was last seen, and how many looks found no later time.
        self._known: dict[str, tuple[int, int]] = {}

    def look(self) -> None:
        """Show that this worker is alive, and release the claims of those that are not."""
        known = {}
        for worker, at in Heartbeat.beat_as(self._worker).items():
            before, missed = self._known.get(worker, (None, 0))
            known[worker] = at, missed + 1 if at == before else 0
        self._known = known
        for worker, (_, missed) in known.items():
            if missed >= MOST_MISSED:
                _bury(worker)


def _bury(worker: str) -> None:
    def release() -> int:
        Heartbeat.forget(worker)
        return _release.execute(worker, len(worker), clock.now()).count

    if released := write(release, CLAIMS):
        logger.warning("worker %s died: %d deliveries are attempted again", worker, released)

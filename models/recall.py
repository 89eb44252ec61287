"""Deliveries that the clock left behind: due further in the future than any wait can be.

A clock that is set back an hour would make them wait an hour longer, and the leases of a dead worker
would take up their webhooks' places for as long.
"""

from collections.abc import Sequence

from peewee import Case

from models import clock
from models.database import reading, writing
from models.delivery import IS_PENDING, Delivery

# A delivery that another process is writing in this moment may be a little ahead.
SLACK_MS = 1_000


def recall_stranded(lease_ms: int, pauses_ms: Sequence[int]) -> int:
    """Cut what lies too far ahead down to the longest wait it may have from now. Returns how many.

    ``lease_ms`` is the length of a lease, ``pauses_ms`` the longest pause after no try, one try and
    so on. An attempt that is still under way keeps its lease.
    """
    now = clock.now()
    pause = Case(Delivery.tries, list(enumerate(pauses_ms)), max(pauses_ms))
    latest = now + Case(None, [(Delivery.lease_token.is_null(False), lease_ms)], pause)
    stranded = (
        Delivery.state == IS_PENDING,
        # The index answers this one, for nearly all rows.
        Delivery.next_attempt_at > now + SLACK_MS,
        Delivery.next_attempt_at > latest + SLACK_MS,
    )
    with reading():
        if not Delivery.select().where(*stranded).exists():
            return 0
    with writing():
        return int(Delivery.update(next_attempt_at=latest).where(*stranded).execute())

"""Brings back deliveries and callbacks that a clock which was set back has put far into the future.

A clock that is set back an hour would make them wait an hour longer, and the leases of a dead worker
would take up their webhooks' places for as long.
"""

import logging

from peewee import Case

from gateway.settings import get_settings
from models import clock
from models.callback import Callback
from models.database import reading, writing
from models.delivery import IS_PENDING, Delivery
from tasks import deliver, redeliver
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

# A delivery that another process is writing in this moment may be a little ahead.
SLACK_MS = 1_000


def recall() -> None:
    """Let nothing wait longer than its lease or its pause from now on."""
    recalled = recall_deliveries() + Callback.recall()
    if recalled:
        logger.warning(
            "%d pieces of work recalled from the future: was the clock set back?", recalled
        )


def recall_deliveries() -> int:
    """Cut what lies too far ahead down to the longest wait it may have from now. Returns how many.

    An attempt that is still under way keeps its lease.
    """
    now, settings = clock.now(), get_settings()
    delays = RetrySchedule(settings.retry_schedule).longest_delays
    # After no try, one try and so on.
    pauses_ms = [redeliver.ahead_ms(), *(round(delay * 1000) for delay in delays)]
    pause = Case(Delivery.tries, list(enumerate(pauses_ms)), max(pauses_ms))
    lease_ms = deliver.lease_ms(settings.delivery_timeout)
    latest = now + Case(None, [(Delivery.lease_token.is_null(), pause)], lease_ms)
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

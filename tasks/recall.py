"""Brings back deliveries and callbacks that a clock which was set back has put far into the future."""

import logging

from gateway.settings import get_settings
from models.callback import Callback
from models.recall import recall_stranded
from tasks import deliver, redeliver
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)


def recall() -> None:
    """Let nothing wait longer than its lease or its pause from now on."""
    settings = get_settings()
    longest = RetrySchedule(settings.retry_schedule).longest_delays
    lease_ms = deliver.lease_ms(settings.delivery_timeout)
    pauses_ms = [redeliver.ahead_ms(), *(round(delay * 1000) for delay in longest)]
    recalled = recall_stranded(lease_ms, pauses_ms) + Callback.recall()
    if recalled:
        logger.warning(
            "%d pieces of work recalled from the future: was the clock set back?", recalled
        )

"""Schedules redeliveries in the background, in parts, with a rate limit for each webhook.

A thread of the worker schedules the parts. The wake-up starts the first part before the next round.
"""

import time

from gateway.settings import get_settings
from models.deliveries.bulk_redelivery import Redelivery

# Parts of a webhook in a round. Deliveries that were redelivered meanwhile do not count against the rate.
MAX_PARTS = 20
PAUSE_SECONDS = 0.005


def ahead_ms() -> int:
    """How far a round schedules ahead, in milliseconds: one second's part and two intervals of the sweep."""
    return round((1 + 2 * get_settings().sweep_interval) * 1000)


def work_off() -> None:
    """One round: schedule the redeliveries of each webhook until the next round."""
    rate, ahead = get_settings().redelivery_rate, ahead_ms()
    for webhook_id in Redelivery.webhook_ids():
        for _ in range(MAX_PARTS):
            if Redelivery.schedule_part(webhook_id, rate, ahead) is None:
                break
            # Lets other writers in between two parts.
            time.sleep(PAUSE_SECONDS)

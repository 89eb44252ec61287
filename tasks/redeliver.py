"""Redelivers many deliveries in the background, in parts, at a rate for each webhook.

A thread of the worker schedules the parts. The wake-up saves the first one the wait for the next round.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from gateway.settings import get_settings
from models.bulk_redelivery import MAX_REDELIVERIES, Redelivery
from models.delivery import ENDED, UNDELIVERED, Delivery
from models.webhook import Webhook
from tasks import deliver
from tasks.fair_share import TooMuchAtOnceError
from tasks.queue import Doorbell

# Of a webhook, in a round: much of it may have been delivered again already, which takes no time of the rate.
MAX_PARTS = 20
PAUSE_SECONDS = 0.005


class InactiveWebhookError(Exception):
    def __init__(self, webhook_id: str) -> None:
        super().__init__(f"The webhook {webhook_id} is inactive. Set active to true first.")


def redeliver_one(delivery: Delivery) -> None:
    """Deliver now, with a fresh retry schedule. Raises InactiveWebhookError."""
    if not delivery.webhook.active:
        raise InactiveWebhookError(delivery.webhook_id)
    delivery.redeliver()
    deliver.bell.ring()


def redeliver_many(
    webhook: Webhook,
    *,
    states: Sequence[str] = UNDELIVERED,
    since: int | None = None,
    until: int | None = None,
) -> list[str]:
    """Deliver what matches once more, in the background. Returns the identifiers of what was chosen.

    ``since`` and ``until`` bound the time of creation, in milliseconds. Raises InactiveWebhookError,
    TooMuchAtOnceError.
    """
    _check(webhook)
    chosen = Redelivery.request(webhook.id, states=states, since=since, until=until)
    bell.ring()
    return chosen


def redeliver_chosen(webhooks: Iterable[Webhook], deliveries: Iterable[Delivery]) -> None:
    """Deliver these of the webhooks once more, as ``redeliver_many``: all of them, or none if it raises."""
    chosen: dict[str, list[str]] = defaultdict(list)
    for delivery in deliveries:
        chosen[delivery.webhook_id].append(delivery.id)
    wanted = [webhook for webhook in webhooks if webhook.id in chosen]
    for webhook in wanted:
        _check(webhook)
    for webhook in wanted:
        Redelivery.keep(webhook.id, ENDED, sorted(chosen[webhook.id]))
    bell.ring()


def _check(webhook: Webhook) -> None:
    if not webhook.active:
        raise InactiveWebhookError(webhook.id)
    if not Redelivery.has_room(webhook.id):
        raise TooMuchAtOnceError(
            f"{MAX_REDELIVERIES:,} deliveries already wait to be redelivered to this webhook. Try again when"
            " some of them are sent."
        )


# Ring it when redeliveries wait.
bell = Doorbell("redeliveries")


def ahead_ms() -> int:
    """How far a round schedules ahead, in milliseconds: one second's part, and beyond the next round."""
    return round((1 + 2 * get_settings().sweep_interval) * 1000)


def work_off() -> None:
    """One round: schedule for each webhook what it gets until the next one."""
    rate, ahead = get_settings().redelivery_rate, ahead_ms()
    for webhook_id in Redelivery.webhook_ids():
        for _ in range(MAX_PARTS):
            if Redelivery.schedule_part(webhook_id, rate, ahead) is None:
                break
            # Other writers get their turn between two parts.
            time.sleep(PAUSE_SECONDS)

"""Redelivery of many, in the background: batch after batch, each a short transaction.

The batches are rows (models.redelivery). The task is only their alarm clock, and the sweep takes what
is left.
"""

import time
from collections.abc import Sequence

from models.delivery import Delivery, DeliveryState
from models.redelivery import Redelivery, RedeliveryCall
from models.webhook import Webhook
from tasks import deliver
from tasks.queue import Doorbell, huey

UNDELIVERED = (DeliveryState.FAILED, DeliveryState.SKIPPED)
# A round ends soon enough for a worker that is told to stop.
MAX_BATCHES = 20
PAUSE_SECONDS = 0.005


class InactiveWebhookError(Exception):
    """A webhook that is disabled gets no events: it has to be enabled first."""

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
) -> RedeliveryCall:
    """Deliver what matches once more, in the background. Returns what was chosen.

    ``since`` and ``until`` bound the time of creation, in milliseconds. Raises InactiveWebhookError.
    """
    if not webhook.active:
        raise InactiveWebhookError(webhook.id)
    call = Redelivery.request(webhook.id, states=states, since=since, until=until)
    bell.ring()
    return call


@huey.task()
def schedule_redeliveries() -> None:
    """Work off what waits."""
    work_off()


# Ring it when redeliveries wait.
bell = Doorbell(schedule_redeliveries)


def work_off() -> None:
    """Schedule batches until none is left, at most MAX_BATCHES; the next sweep goes on."""
    for _ in range(MAX_BATCHES):
        if Redelivery.work_off_one() is None:
            return
        deliver.bell.ring()
        # Other writers get their turn between two batches.
        time.sleep(PAUSE_SECONDS)

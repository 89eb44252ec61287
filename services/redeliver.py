"""Redelivers deliveries: one at once, many in the background.

Those of a webhook are scheduled in parts, with a rate limit, by a thread of the worker.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from gateway.settings import get_settings
from models.accounts.audit import Audit
from models.database import exclusively
from models.deliveries.bulk_redelivery import MAX_REDELIVERIES, Redelivery
from models.deliveries.delivery import UNDELIVERED, Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from models.errors import ConflictError, RateLimitedError
from services.fair_share import RETRY_AFTER

# Parts of a webhook in a round. Deliveries that were redelivered meanwhile do not count against the rate.
MAX_PARTS = 20
PAUSE_SECONDS = 0.005


def redeliver_one(delivery: Delivery) -> None:
    """Deliver now, with a new retry schedule. Raises ConflictError."""
    _require_active(delivery.webhook)
    account_id, delivery_id = delivery.webhook.account_id, delivery.id

    @exclusively
    def schedule() -> None:
        delivery.redeliver()
        Audit.record(account_id, "delivery.redelivered", delivery_id)

    schedule()


def redeliver_many(
    webhook: Webhook,
    *,
    states: Sequence[str] = UNDELIVERED,
    include_delivered: bool = False,
    since: int | None = None,
    until: int | None = None,
) -> list[str]:
    """Redeliver the matching deliveries in the background. Returns their identifiers.

    Of ``states``, delivered means nothing: only ``include_delivered`` adds it. ``since`` and ``until`` limit
    the time of creation, in milliseconds. Raises ConflictError, RateLimitedError.
    """
    _check(webhook)
    undelivered = [state for state in UNDELIVERED if state in states]
    wanted = repeatable(undelivered, include_delivered=include_delivered)
    return Redelivery.request(webhook.id, states=wanted, since=since, until=until)


def repeatable(
    undelivered: Sequence[str] = UNDELIVERED, *, include_delivered: bool
) -> Sequence[str]:
    """The states in which a delivery may be sent again."""
    return [*undelivered, *([DeliveryState.DELIVERED] if include_delivered else [])]


def redeliver_chosen(
    webhooks: Iterable[Webhook], deliveries: Iterable[Delivery], *, include_delivered: bool
) -> None:
    """Redeliver these deliveries of the webhooks like ``redeliver_many``, or none of them if it raises."""
    chosen: dict[str, list[str]] = defaultdict(list)
    for delivery in deliveries:
        chosen[delivery.webhook_id].append(delivery.id)
    wanted = [webhook for webhook in webhooks if webhook.id in chosen]
    for webhook in wanted:
        _check(webhook)
    for webhook in wanted:
        states = repeatable(include_delivered=include_delivered)
        Redelivery.record(webhook.id, states, sorted(chosen[webhook.id]))


def _require_active(webhook: Webhook) -> None:
    if not webhook.active:
        raise ConflictError(f"The webhook {webhook.id} is disabled. Set active to true first.")


def _check(webhook: Webhook) -> None:
    _require_active(webhook)
    if not Redelivery.has_room(webhook.id):
        raise RateLimitedError(
            f"{MAX_REDELIVERIES:,} deliveries are already waiting for redelivery to this webhook. Try again"
            " when some of them have been sent.",
            retry_after=RETRY_AFTER,
        )


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

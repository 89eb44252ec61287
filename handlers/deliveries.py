"""Tag deliveries of the contract."""

from typing import Any

import orjson

from handlers.renamed import renamed
from handlers.times import parse_time
from models.accounts.account import no_access, owned
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import UNDELIVERED, Delivery
from models.deliveries.delivery_filter import DeliveryFilter
from models.deliveries.webhook import Webhook
from resources.delivery import attempt_object, delivery_object
from resources.page import page_object
from services import redeliver


def _find(user: str, delivery_id: str) -> Delivery:
    delivery = Delivery.find(delivery_id)
    if delivery is None or delivery.webhook.account_id != user:
        raise no_access("delivery", delivery_id, exists=delivery is not None)
    return delivery


def list_webhook_deliveries(  # noqa: PLR0913, PLR0917 - the parameters of the contract
    user: str,
    webhook_id: str,
    limit: int,
    offset: int,
    state: str | None = None,
    event: str | None = None,
    since: str | None = None,
    until: str | None = None,
    after: str | None = None,
    status: str | None = None,
) -> dict[str, Any]:
    """GET /webhooks/{webhook_id}/deliveries."""
    status = renamed(status, state)
    owned(Webhook, webhook_id, user)
    wanted = DeliveryFilter(
        [webhook_id],
        states=None if status is None else [status],
        kind=event,
        since=parse_time("Query parameter since", since, "/since"),
        until=parse_time("Query parameter until", until, "/until"),
    )
    return page_object(wanted.page(limit, after or offset), delivery_object)


def get_delivery(user: str, delivery_id: str) -> dict[str, Any]:
    """GET /deliveries/{delivery_id}."""
    delivery = _find(user, delivery_id)
    return delivery_object(delivery) | {
        "payload": orjson.Fragment(delivery.event.sent_payload),
        "attempts": [attempt_object(a) for a in Attempt.of(delivery)],
    }


def redeliver_delivery(user: str, delivery_id: str) -> dict[str, Any]:
    """POST /deliveries/{delivery_id}/redeliver."""
    delivery = _find(user, delivery_id)
    redeliver.redeliver_one(delivery)
    return delivery_object(delivery)


def redeliver_webhook_deliveries(
    user: str, webhook_id: str, payload: dict[str, Any]
) -> dict[str, Any]:
    """POST /webhooks/{webhook_id}/redeliver."""
    since = parse_time("Request body, since", payload.get("since"), "/since")
    until = parse_time("Request body, until", payload.get("until"), "/until")
    statuses = renamed(payload.get("statuses"), payload.get("states"))
    webhook = owned(Webhook, webhook_id, user)
    chosen = redeliver.redeliver_many(
        webhook,
        states=UNDELIVERED if statuses is None else statuses,
        include_delivered=payload.get("includeDelivered", False),
        since=since,
        until=until,
    )
    return {"count": len(chosen)}

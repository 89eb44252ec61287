"""Tag deliveries of the contract."""

import json
from typing import Any

from handlers.resources import no_access, owned, page_json
from handlers.times import parse_time
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import UNDELIVERED, Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from services import redeliver
from webhooks.envelope import timestamp


def render(delivery: Delivery) -> dict[str, Any]:
    """The Delivery object."""
    # During an attempt the column is the end of its lease, not the time of the next attempt.
    due = None if delivery.lease_token else delivery.next_attempt_at
    return {
        "id": delivery.id,
        "webhookId": delivery.webhook_id,
        "eventId": delivery.event_id,
        "event": delivery.event_kind,
        "state": delivery.state,
        "attemptCount": delivery.finished_attempts,
        "nextAttemptAt": None if due is None else timestamp(due),
        "createdAt": timestamp(delivery.created_at),
        "completedAt": None if delivery.completed_at is None else timestamp(delivery.completed_at),
    }


def _render_attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "id": attempt.id,
        "number": attempt.number,
        "startedAt": timestamp(attempt.started_at),
        "durationMs": attempt.duration_ms,
        "success": attempt.success,
        "statusCode": attempt.status_code,
        "error": attempt.error,
        "responseBody": attempt.response_body,
    }


def _find(user: str, delivery_id: str) -> Delivery:
    delivery = Delivery.find(delivery_id)
    if delivery is None or delivery.webhook.account_id != user:
        raise no_access("delivery", delivery_id, exists=delivery is not None)
    return delivery


def list_webhook_deliveries(
    user: str,
    webhook_id: str,
    limit: int,
    offset: int,
    state: str | None = None,
    event: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> dict[str, Any]:
    """GET /webhooks/{webhook_id}/deliveries."""
    owned(Webhook, webhook_id, user)
    page = Delivery.page(
        webhook_id,
        limit,
        offset,
        state=state,
        kind=event,
        since=parse_time("Query parameter since", since, "/since"),
        until=parse_time("Query parameter until", until, "/until"),
    )
    return page_json(page, render)


def get_delivery(user: str, delivery_id: str) -> dict[str, Any]:
    """GET /deliveries/{delivery_id}."""
    delivery = _find(user, delivery_id)
    return render(delivery) | {
        "payload": json.loads(delivery.event.payload),
        "attempts": [_render_attempt(a) for a in Attempt.of(delivery)],
    }


def redeliver_delivery(user: str, delivery_id: str) -> dict[str, Any]:
    """POST /deliveries/{delivery_id}/redeliver."""
    delivery = _find(user, delivery_id)
    redeliver.redeliver_one(delivery)
    return render(delivery)


def redeliver_webhook_deliveries(
    user: str, webhook_id: str, payload: dict[str, Any]
) -> dict[str, Any]:
    """POST /webhooks/{webhook_id}/redeliver."""
    since = parse_time("Request body, since", payload.get("since"), "/since")
    until = parse_time("Request body, until", payload.get("until"), "/until")
    webhook = owned(Webhook, webhook_id, user)
    # A pending delivery needs no redelivery.
    states = set(payload.get("states", UNDELIVERED)) - {DeliveryState.PENDING}
    chosen = redeliver.redeliver_many(webhook, states=sorted(states), since=since, until=until)
    return {"count": len(chosen)}

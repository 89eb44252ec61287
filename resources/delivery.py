"""The Delivery object of the contract, and its attempts."""

from typing import Any

from models.clock import moment, timestamp
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery


def delivery_object(delivery: Delivery) -> dict[str, Any]:
    # During an attempt the column is the end of its lease, not the time of the next attempt.
    due = None if delivery.lease_token else delivery.due_at
    return {
        "id": delivery.id,
        "webhookId": delivery.webhook_id,
        "eventId": delivery.event_id,
        "event": delivery.event_kind,
        "status": delivery.state,
        # The earlier name.
        "state": delivery.state,
        "attemptCount": delivery.finished_attempts,
        "nextAttemptAt": moment(due),
        "createdAt": timestamp(delivery.created_at),
        "completedAt": moment(delivery.completed_at),
    }


def attempt_object(attempt: Attempt) -> dict[str, Any]:
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

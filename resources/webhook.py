"""The Webhook object of the contract, and the result of its test."""

from typing import Any

from models.accounts.secret import SecretUnreadableError
from models.clock import timestamp
from models.deliveries.webhook import Webhook
from webhooks.client import Answer


def webhook_object(webhook: Webhook, *, secret: str | None = None) -> dict[str, Any]:
    """The Webhook object of a row. The secret is masked unless ``secret`` is given."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "secret": secret or webhook.masked_secret,
        "events": webhook.events,
        "numberIds": webhook.number_ids,
        "active": webhook.active,
        "description": webhook.description or "",
        "headerNames": [*known_headers(webhook)],
        "maxRate": webhook.max_rate or 0,
        "batch": batch_object(webhook),
        "createdAt": timestamp(webhook.created_at),
    }


def batch_object(webhook: Webhook) -> dict[str, int]:
    """The WebhookBatch object: zeros without batches."""
    events, wait_ms = webhook.batch_events or 0, webhook.batch_wait_ms or 0
    return {"maxEvents": events, "maxWaitMs": wait_ms if events else 0}


def known_headers(webhook: Webhook) -> dict[str, str]:
    """Its headers. Empty if they cannot be decrypted: then they can still be replaced."""
    try:
        return webhook.headers
    except SecretUnreadableError:
        return {}


def test_result_object(answer: Answer) -> dict[str, Any]:
    """The WebhookTestResult object. Its status is 0 without a response."""
    return {
        "success": answer.success,
        "statusCode": answer.status_code or 0,
        "responseTimeMs": answer.duration_ms,
        "message": answer.error or f"The receiver returned {answer.status_code}.",
    }

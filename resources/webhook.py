"""The Webhook object of the contract."""

from typing import Any

from models.deliveries.webhook import Webhook
from webhooks.envelope import timestamp


def webhook_object(webhook: Webhook, *, secret: str | None = None) -> dict[str, Any]:
    """The Webhook object of a row. The secret is masked unless ``secret`` is given."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "secret": secret or webhook.masked_secret,
        "events": webhook.events,
        "numberIds": webhook.number_ids,
        "active": webhook.active,
        "createdAt": timestamp(webhook.created_at),
    }

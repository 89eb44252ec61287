"""A delivery's request: its signed headers, and the client that the settings describe."""

from gateway.settings import get_settings
from models import clock
from models.webhook import Webhook
from webhooks import signing
from webhooks.client import WebhookClient


def make_client() -> WebhookClient:
    """A client as the settings want it."""
    settings = get_settings()
    return WebhookClient(
        timeout=settings.delivery_timeout,
        allow_local=bool(settings.allow_local_webhooks),
        user_agent=settings.user_agent,
    )


def signed_headers(
    webhook: Webhook, body: bytes, *, kind: str, delivery_id: str, attempt_number: int
) -> dict[str, str]:
    """The headers of one attempt, signed with the secret of this moment (decision 6)."""
    return {
        signing.HEADER: signing.sign(webhook.secret, body),
        "X-Service-Event": kind,
        "X-Service-Delivery": delivery_id,
        "X-Service-Attempt": str(attempt_number),
        "X-Service-Timestamp": str(clock.now() // 1000),
    }

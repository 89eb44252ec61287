"""A delivery's request: its signed headers, and the client that the settings describe."""

from gateway.settings import get_settings
from models.attempt import Attempt
from models.delivery import Delivery
from models.webhook import Webhook
from webhooks import signing
from webhooks.client import CONTENT_TYPE, WebhookClient


def make_client() -> WebhookClient:
    """A client as the settings want it."""
    settings = get_settings()
    return WebhookClient(
        timeout=settings.delivery_timeout,
        allow_local=bool(settings.allow_local_webhooks),
        user_agent=settings.user_agent,
    )


def signed_headers(
    webhook: Webhook,
    body: bytes,
    *,
    event_id: str,
    kind: str,
    delivery_id: str,
    attempt_number: int,
    at: int,
) -> dict[str, str]:
    """The headers of one attempt at the time ``at``.

    X-Service-Signature is made with the present secret only (decision 6), Standard Webhooks' signature also
    with the previous one for a while (decision 32). Raises SecretUnreadableError.
    """
    secrets, seconds = webhook.secrets_at(at), at // 1000
    return {
        signing.HEADER: signing.sign(secrets[0], body),
        signing.ID_HEADER: event_id,
        signing.TIMESTAMP_HEADER: str(seconds),
        signing.STANDARD_HEADER: signing.sign_standard(secrets, event_id, seconds, body),
        "X-Service-Event": kind,
        "X-Service-Delivery": delivery_id,
        "X-Service-Attempt": str(attempt_number),
        "X-Service-Timestamp": str(seconds),
    }


def headers_of(attempt: Attempt, delivery: Delivery) -> dict[str, str | None]:
    """The headers that an attempt went out with, by name, made again from what is on record.

    The signatures are None when the webhook's secret was rotated since: they were made with other secrets.
    Raises SecretUnreadableError.
    """
    webhook = delivery.webhook
    headers: dict[str, str | None] = {
        "Content-Type": CONTENT_TYPE,
        "User-Agent": get_settings().user_agent,
        **signed_headers(
            webhook,
            delivery.event.payload.encode(),
            event_id=delivery.event.id,
            kind=delivery.event_kind,
            delivery_id=delivery.id,
            attempt_number=attempt.number,
            at=attempt.started_at,
        ),
    }
    if webhook.secret_changed_at is not None and attempt.started_at <= webhook.secret_changed_at:
        headers |= dict.fromkeys((signing.HEADER, signing.STANDARD_HEADER))
    return headers

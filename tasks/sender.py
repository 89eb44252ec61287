"""Requests to receivers: their signed headers, the client, and the test of a webhook (decision 11)."""

from gateway.settings import get_settings
from models import clock
from models.attempt import Attempt
from models.clock import new_id
from models.delivery import Delivery
from models.webhook import Webhook
from tasks.shares import Share
from webhooks import signing
from webhooks.client import CONTENT_TYPE, Answer, WebhookClient
from webhooks.kinds import EventKind
from webhooks.sample import sample_event

# A receiver that hangs holds a test for ten seconds.
TESTS = Share("tests of webhooks", 3)


def make_client() -> WebhookClient:
    settings = get_settings()
    return WebhookClient(
        timeout=settings.delivery_timeout,
        allow_local=bool(settings.allow_local_webhooks),
        user_agent=settings.user_agent,
    )


def signed_headers(
    webhook: Webhook, body: bytes, at: int, event: tuple[str, str], attempt: tuple[str, int]
) -> dict[str, str]:
    """The headers of one attempt at the time ``at``.

    ``event`` is its identifier and kind, ``attempt`` the delivery's identifier and the attempt's number.
    X-Service-Signature is made with the present secret only (decision 6), Standard Webhooks' signature also
    with the previous one for a while (decision 32). Raises SecretUnreadableError.
    """
    secrets, seconds = webhook.secrets_at(at), at // 1000
    event_id, kind = event
    delivery_id, number = attempt
    return {
        signing.HEADER: signing.sign(secrets[0], body),
        signing.ID_HEADER: event_id,
        signing.TIMESTAMP_HEADER: str(seconds),
        signing.STANDARD_HEADER: signing.sign_standard(secrets, event_id, seconds, body),
        "X-Service-Event": kind,
        "X-Service-Delivery": delivery_id,
        "X-Service-Attempt": str(number),
        "X-Service-Timestamp": str(seconds),
    }


def headers_of(attempt: Attempt, delivery: Delivery) -> dict[str, str | None]:
    """The headers that an attempt went out with, by name, made again from what is on record.

    The signatures are None when the webhook's secret was rotated since: they were made with other secrets.
    Raises SecretUnreadableError.
    """
    webhook, body, at = delivery.webhook, delivery.event.payload.encode(), attempt.started_at
    event = delivery.event.id, delivery.event_kind
    headers: dict[str, str | None] = {
        "Content-Type": CONTENT_TYPE,
        "User-Agent": get_settings().user_agent,
        **signed_headers(webhook, body, at, event, (delivery.id, attempt.number)),
    }
    if webhook.secret_changed_at is not None and at <= webhook.secret_changed_at:
        headers |= dict.fromkeys((signing.HEADER, signing.STANDARD_HEADER))
    return headers


async def send_test_delivery(webhook: Webhook, kind: EventKind | None = None) -> Answer:
    """Send a sample now, outside the queue. Without a kind it is the first subscribed one.

    Its identifiers are new each time: a receiver that deduplicates takes every test. Raises
    TooMuchAtOnceError.
    """
    kind, now = kind or EventKind(webhook.events[0]), clock.now()
    body = sample_event(kind, now, new_id).encode()
    with TESTS.of(webhook.account_id):
        headers = signed_headers(webhook, body, now, (new_id("evt"), kind), (new_id("dlv"), 1))
        async with make_client() as client:
            return await client.post(webhook.url, body, headers)

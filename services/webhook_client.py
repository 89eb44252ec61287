"""The client for requests to receivers, headers of past attempts, and tests of webhooks."""

from collections.abc import Mapping

from gateway.settings import get_settings
from models import clock
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery
from models.deliveries.webhook import Webhook
from resources.sample import sample_event
from services.fair_share import Share
from webhooks import signing
from webhooks.client import CONTENT_TYPE, Answer, WebhookClient
from webhooks.faults import MachineError
from webhooks.kinds import EventKind

# Concurrent tests of an account. A receiver that hangs occupies a test for ten seconds.
TESTS = Share("tests of webhooks", 3)


def make_client() -> WebhookClient:
    settings = get_settings()
    return WebhookClient(
        timeout=settings.delivery_timeout,
        allow_local=bool(settings.allow_local_webhooks),
        user_agent=settings.user_agent,
    )


async def post_once(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """POST outside the engine. An error of this machine becomes the ``error`` of the result, too."""
    async with make_client() as client:
        try:
            return await client.post(url, body, headers)
        except MachineError as error:
            return Answer(None, f"Not sent: {error}.", None, 0)


def headers_of(attempt: Attempt, delivery: Delivery) -> dict[str, str | None]:
    """The headers of a past attempt by name, computed again from the stored rows.

    The signatures are None if the webhook's secret was rotated since, because older secrets signed the
    attempt. Raises SecretUnreadableError.
    """
    webhook, at = delivery.webhook, attempt.started_at
    headers: dict[str, str | None] = {
        "Content-Type": CONTENT_TYPE,
        "User-Agent": get_settings().user_agent,
        **signing.headers(
            webhook.secrets_at(at),
            delivery.event.payload.encode(),
            at,
            event_id=delivery.event.id,
            kind=delivery.event_kind,
            delivery_id=delivery.id,
            number=attempt.number,
        ),
    }
    if webhook.secret_changed_at is not None and at <= webhook.secret_changed_at:
        headers |= dict.fromkeys((signing.HEADER, signing.STANDARD_HEADER))
    return headers


async def send_test_delivery(
    webhook: Webhook, kind: EventKind | None = None, payload: str | None = None
) -> Answer:
    """Send ``payload`` or a sample now, outside the queue. ``kind`` is by default the first subscribed one.

    Every sample has new identifiers, so that a receiver that deduplicates accepts each test. Raises
    TooMuchAtOnceError.
    """
    kind, now = kind or EventKind(webhook.events[0]), clock.now()
    body = (payload or sample_event(kind, now, clock.new_id)).encode()
    with TESTS.of(webhook.account_id):
        headers = signing.headers(
            webhook.secrets_at(now),
            body,
            now,
            event_id=clock.new_id("evt"),
            kind=kind,
            delivery_id=clock.new_id("dlv"),
            number=1,
        )
        return await post_once(webhook.url, body, headers)

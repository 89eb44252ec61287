"""The test delivery of a webhook: once, now, outside the queue (decision 11)."""

from models import clock
from models.clock import new_id
from models.webhook import Webhook
from tasks.sender import make_client, signed_headers
from tasks.shares import Share
from webhooks.client import Answer
from webhooks.kinds import EventKind
from webhooks.sample import sample_event

# A receiver that hangs holds a test for ten seconds.
TESTS = Share("tests of webhooks", 3)


async def send_test_delivery(webhook: Webhook, kind: EventKind | None = None) -> Answer:
    """Send a sample and wait for the answer. Without a kind it is the first subscribed one.

    Its identifiers are new each time: a receiver that deduplicates takes every test. Raises
    TooMuchAtOnceError.
    """
    kind, now = kind or EventKind(webhook.events[0]), clock.now()
    body = sample_event(kind, now, new_id).encode()
    with TESTS.of(webhook.account_id):
        headers = signed_headers(
            webhook,
            body,
            event_id=new_id("evt"),
            kind=kind,
            delivery_id=new_id("dlv"),
            attempt_number=1,
            at=now,
        )
        async with make_client() as client:
            return await client.post(webhook.url, body, headers)

"""Creates django-webhook's tables and webhooks, and enqueues its task like its signal handler.

``python -m benchmarks.peers.django_webhook_app.enqueue COUNT URL...``
"""

import sys

from benchmarks.payload import event_body
from benchmarks.peers.django_webhook_app.app import app
from benchmarks.peers.signing import SECRET


def make_webhooks(urls: list[str]) -> list[int]:
    """A webhook with a secret for each address. Returns their identifiers."""
    # Its models exist only after django.setup(), which importing the application calls.
    from django.core.management import call_command  # noqa: PLC0415
    from django_webhook.models import Webhook, WebhookSecret  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    webhooks = [Webhook.objects.create(url=url) for url in urls]
    for webhook in webhooks:
        WebhookSecret.objects.create(webhook=webhook, token=SECRET.decode())
    return [webhook.id for webhook in webhooks]


def enqueue_all(count: int, webhook_ids: list[int]) -> None:
    """Enqueue ``count`` deliveries, to the webhooks in turns, over one connection."""
    from django_webhook.tasks import fire_webhook  # noqa: PLC0415

    about = {"topic": "bench.Message/create", "object_type": "bench.Message"}
    with app.producer_or_acquire() as producer:
        for number in range(count):
            arguments = (webhook_ids[number % len(webhook_ids)], event_body(f"msg_{number}"))
            fire_webhook.apply_async(arguments, about, producer=producer)


if __name__ == "__main__":
    enqueue_all(int(sys.argv[1]), make_webhooks(sys.argv[2:]))

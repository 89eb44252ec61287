"""Creates a webhook for a request with an Idempotency-Key, once.

The response has the secret of the webhook, which is stored encrypted in the webhook's row alone. The stored
response has its digest, and a replay takes the secret from the row. So a secret has no second copy, and is
replayed only while it still signs.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from models import clock
from models.accounts.secret import SecretUnreadableError, digest
from models.deliveries.webhook import Webhook
from models.errors import ConflictError
from resources.webhook import webhook_object
from services import webhooks
from services.repeating import Answer, Once, at_once

SECRET = "secret"  # noqa: S105 - the name of a property


def create_once(once: Once, checked: Callable[[], Mapping[str, Any]]) -> Answer:
    """Create a webhook, or replay the response to the key. ``checked`` gives the values of its row.

    Raises DomainError.
    """
    if known := once.known():
        return _with_secret(once.replay(known))
    values = checked()

    def create() -> Answer:
        webhook = webhooks.create(once.account_id, **values)
        shown = webhook_object(webhook, secret=digest(webhook.secret))
        return Answer(201, orjson.dumps(shown).decode())

    return _with_secret(at_once(once, create))


def _with_secret(stored: Answer) -> Answer:
    """The answer to the client, with the secret in the place of its digest. Raises ConflictError."""
    shown = orjson.loads(stored.body)
    for secret in _secrets_of(shown["id"]):
        if digest(secret) == shown[SECRET]:
            body = orjson.dumps(shown | {SECRET: secret}).decode()
            return Answer(stored.status, body, is_replayed=stored.is_replayed)
    raise ConflictError(
        f"The webhook {shown['id']} of this Idempotency-Key was deleted, or has another secret by now."
        " Nothing was created. To create another webhook, use a new key."
    )


def _secrets_of(webhook_id: str) -> list[str]:
    webhook = Webhook.by_id(webhook_id)
    try:
        return [] if webhook is None else webhook.secrets_at(clock.now())
    except SecretUnreadableError:
        return []

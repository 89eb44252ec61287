"""Checks received events against the callbacks of the contract with openapi-core.

OpenAPI 3.0 has no webhooks, so the callbacks of POST /webhooks are read as the paths of a receiver's
own API, one for each event kind. Then a delivery is an ordinary request: its signature header,
content type and body are checked together.
"""

import hashlib
import hmac
from typing import Any

from openapi_core import OpenAPI
from openapi_core.testing import MockRequest

from contract_tests.conformance.exchange import check_values
from contract_tests.harness import Received

RECEIVER = "https://receiver.example.com"
MESSAGE_FIELDS = {
    "id",
    "numberId",
    "direction",
    "fromNumber",
    "toNumber",
    "type",
    "body",
    "createdAt",
}
KINDS = (
    "message.received",
    "message.sent",
    "message.delivered",
    "message.read",
    "message.failed",
    "number.activated",
    "number.disconnected",
    "number.banned",
    "template.updated",
    "number.updated",
    "contact.updated",
    "message.edited",
    "message.deleted",
    "message.echoed",
    "call.updated",
    "broadcast.started",
    "broadcast.paused",
    "broadcast.completed",
)


def digest(secret: str, body: bytes) -> str:
    """The header's value as a customer computes it."""
    return "sha256=" + hmac.new(secret.encode("utf-8"), body, hashlib.sha256).hexdigest()


class Callbacks:
    """The callbacks of a contract, as an API that receivers implement."""

    def __init__(self, contract: dict[str, Any]) -> None:
        callbacks = contract["paths"]["/webhooks"]["post"]["callbacks"]
        self.kinds = set(callbacks)
        paths = {f"/{kind}": next(iter(found.values())) for kind, found in callbacks.items()}
        document = contract | {"paths": paths, "servers": [{"url": RECEIVER}], "security": []}
        self._openapi = OpenAPI.from_dict(document)

    def check(self, received: Received, secret: str) -> dict[str, Any]:
        """Raise unless this is a well-formed event, signed with ``secret``. Returns the event."""
        signature = received.headers["x-service-signature"]
        assert hmac.compare_digest(signature, digest(secret, received.body)), "wrongly signed"
        event = received.event
        request = MockRequest(
            RECEIVER,
            "POST",
            f"/{event['event']}",
            headers=dict(received.headers),
            data=received.body,
            content_type=received.headers["content-type"],
        )
        self._openapi.validate_request(request)
        assert set(event) == {"id", "event", "timestamp", "data"}
        assert event["id"] == received.headers["webhook-id"]
        check_values(event)
        return event


def check_message(message: dict[str, Any]) -> None:
    """The eight basic fields of a Message are present and not empty."""
    assert message.keys() >= MESSAGE_FIELDS
    strings = MESSAGE_FIELDS - {"body"}
    assert all(isinstance(message[name], str) and message[name] for name in strings)
    if message["type"] == "text":
        assert isinstance(message["body"]["body"], str)

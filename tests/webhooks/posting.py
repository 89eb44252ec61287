"""Sends deliveries like the engine, on a temporary event loop."""

from typing import Any

import uvloop

from webhooks.client import Answer, WebhookClient
from webhooks.reasons import NO_RESPONSE

BODY = b'{"event":"message.sent"}'
HEADERS = {"X-Service-Signature": "sha256=0"}


def make_client(**options: Any) -> WebhookClient:
    """A client that may call loopback by default."""
    chosen: dict[str, Any] = {
        "timeout": 5,
        "allow_local": True,
        "user_agent": "Gateway/1",
    } | options
    return WebhookClient(**chosen)


def post(*urls: str, **options: Any) -> list[Answer]:
    """POST to the addresses one after the other with one client."""

    async def run() -> list[Answer]:
        async with make_client(**options) as client:
            return [await client.post(url, BODY, HEADERS) for url in urls]

    return uvloop.run(run())


def post_one(url: str, **options: Any) -> Answer:
    """POST to one address."""
    [only] = post(url, **options)
    return only


def no_response(reason: str) -> str:
    """The error of an attempt without a response."""
    return f"{NO_RESPONSE}{reason}"

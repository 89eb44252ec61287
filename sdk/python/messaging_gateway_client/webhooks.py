"""Verifies and parses the requests that webhooks receive (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from messaging_gateway_client import types

# The seconds that the clocks may differ, and the age of a request that somebody recorded.
TOLERANCE = 300.0


class WebhookError(Exception):
    """The request is not authentic, too old, or no event. Answer it with 401."""


def verify_and_parse(
    headers: Mapping[str, str] | Iterable[tuple[str, str]],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE,
) -> list[types.Event]:
    """The events of a request: one, or several if the webhook has ``batch``. Raises WebhookError.

    ``headers`` are all headers of the request, ``body`` is the raw body. Give several secrets while you
    replace one. Each event has an ``id``: ignore one that you already have.
    """
    found = {str(name).lower(): str(value) for name, value in dict(headers).items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    identifier, moment, signatures = (found.get(name, "") for name in names)
    _check_time(moment, tolerance)
    secrets = [secret] if isinstance(secret, str) else secret
    signed = f"{identifier}.{moment}.".encode() + body
    if not any(_is_signed(signed, signatures, _key_of(one)) for one in secrets):
        raise WebhookError("The signature is wrong. Check the secret, and give the raw body.")
    return _events(body, identifier)


def _check_time(moment: str, tolerance: float) -> None:
    if not moment.isascii() or not moment.isdigit():
        raise WebhookError("The header webhook-timestamp is missing or no number.")
    if abs(time.time() - int(moment)) > tolerance:
        raise WebhookError("The request is too old, or the clock of this machine is wrong.")


def _key_of(secret: str) -> bytes:
    """The bytes that a secret encodes. Raises ValueError, because the caller configured it."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("The secret of the webhook is whsec_ and base64. Copy it again.")
    return key


def _is_signed(signed: bytes, signatures: str, key: bytes) -> bool:
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = signatures.encode("utf-8", "replace").split(b" ")
    return any(hmac.compare_digest(b"v1," + digest, one) for one in given)


def _events(body: bytes, identifier: str) -> list[types.Event]:
    try:
        parsed: dict[str, Any] = json.loads(body)
        # A gateway of release 1.0 sends no id in the body.
        events = parsed.get("events", [{"id": identifier, **parsed}])
        if all(isinstance(event["event"], str) for event in events):
            return list(events)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    raise WebhookError("The body is no event. Check that the gateway sent it.")

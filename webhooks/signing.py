"""The headers of a delivery with its two signatures: X-Service-Signature, and that of Standard Webhooks.

X-Service-Signature covers the body only (docs/receiving.md). Standard Webhooks
(docs/decisions/0037-standard-webhooks.md) also covers identifier and time, and allows several signatures.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache

HEADER = "X-Service-Signature"
ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
STANDARD_HEADER = "webhook-signature"

_PREFIX = "whsec_"
# Older secrets use the URL-safe alphabet without padding.
_TO_STANDARD_ALPHABET = str.maketrans("-_", "+/")


def headers(
    secrets: Sequence[str],
    body: bytes,
    at: int,
    *,
    event_id: str,
    kind: str,
    delivery_id: str,
    number: int,
) -> dict[str, str]:
    """The headers of attempt ``number`` at the time ``at``, in milliseconds. The current secret comes first.

    X-Service-Signature uses only the current secret, Standard Webhooks' signature uses all of them (ADR 37).
    """
    seconds = at // 1000
    return {
        HEADER: sign(secrets[0], body),
        ID_HEADER: event_id,
        TIMESTAMP_HEADER: str(seconds),
        STANDARD_HEADER: sign_standard(secrets, event_id, seconds, body),
        "X-Service-Event": kind,
        "X-Service-Delivery": delivery_id,
        "X-Service-Attempt": str(number),
        "X-Service-Timestamp": str(seconds),
    }


def sign(secret: str, body: bytes) -> str:
    """The value of HEADER: ``sha256=`` and the lowercase hex HMAC-SHA256 of ``body``.

    The key is the whole secret with its prefix, as UTF-8.
    """
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def sign_standard(secrets: Sequence[str], event_id: str, seconds: int, body: bytes) -> str:
    """The value of STANDARD_HEADER: a signature with each of the secrets, in the same order.

    The key is the secret's base64, decoded. ``seconds`` is the Unix time in TIMESTAMP_HEADER.
    """
    signed = f"{event_id}.{seconds}.".encode() + body
    return " ".join(f"v1,{_digest(_key(secret), signed)}" for secret in secrets)


# A cache, because the same few secrets sign many deliveries.
@lru_cache(maxsize=4096)
def _key(secret: str) -> bytes:
    text = secret.removeprefix(_PREFIX).translate(_TO_STANDARD_ALPHABET)
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _digest(key: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")

"""The bytes of a callback and their signature (Cloud API, Webhooks: signature)."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

# Created once: json.dumps would create an encoder for each call.
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def encode(payload: dict[str, Any]) -> bytes:
    r"""JSON as the platform writes it: compact, non-ASCII as ``\uXXXX``, and ``/`` as ``\/``.

    A slash in JSON only ever stands inside a string, so replacing it afterwards is safe.
    """
    return _ENCODER.encode(payload).replace("/", "\\/").encode("ascii")


def signature(body: bytes, app_secret: str) -> str:
    """The value of ``X-Hub-Signature-256`` over exactly these bytes."""
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()

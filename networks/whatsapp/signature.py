"""The signature of the network's callbacks: X-Hub-Signature-256 over the raw body bytes."""

import hashlib
import hmac

HEADER = "X-Hub-Signature-256"


def is_authentic(app_secret: str, body: bytes, header: str | None) -> bool:
    """Whether ``header`` is ``sha256=`` and the HMAC-SHA256 of ``body``. Compares in constant time."""
    digest = hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
    given = (header or "").encode("utf-8", "surrogateescape")
    return hmac.compare_digest(f"sha256={digest}".encode(), given)

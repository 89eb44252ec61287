"""The signature of deliveries (specification, Signature of outbound webhook deliveries)."""

import hashlib
import hmac

HEADER = "X-Service-Signature"


def sign(secret: str, body: bytes) -> str:
    """The header's value: ``sha256=`` and the lowercase hex HMAC-SHA256 of ``body``.

    The key is the whole secret, its prefix included, as UTF-8.
    """
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()

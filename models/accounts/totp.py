"""Time-based one-time passwords (RFC 6238): SHA-1, six digits, a new one every 30 seconds."""

import base64
import hmac
import secrets
from urllib.parse import quote

STEP_MS = 30_000
ISSUER = "Messaging Gateway"


def new_secret() -> str:
    """A secret of 160 bits, in base32 for authenticator apps."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code_of(secret: str, step: int) -> str:
    """The code of a time step: the milliseconds since the epoch, divided by STEP_MS."""
    mac = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    start = mac[-1] & 0x0F
    number = int.from_bytes(mac[start : start + 4], "big") & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"


def matching_step(secret: str, code: str, now: int) -> int | None:
    """The newest time step within one of now whose code matches, or None."""
    present = now // STEP_MS
    matching = [
        step
        for step in (present - 1, present, present + 1)
        if hmac.compare_digest(code_of(secret, step).encode(), code.encode(errors="replace"))
    ]
    return max(matching, default=None)


def address_of(secret: str, email: str) -> str:
    """The URI in the QR code for an authenticator app."""
    label = quote(f"{ISSUER}:{email}", safe="")
    return f"otpauth://totp/{label}?secret={secret}&issuer={quote(ISSUER)}"

"""Phone numbers and identifiers in the forms the platform uses."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from functools import lru_cache

_TOLERATED = re.compile(r"[+\-() ]")
_DIGITS = re.compile(r"[1-9][0-9]{6,14}")
_NANP_LENGTH = 11


def digits_of(text: str) -> str | None:
    """The bare international digits of a phone number, or None when it is none.

    The platform tolerates ``+``, ``-``, brackets and spaces (Cloud API reference, Messages).
    """
    bare = _TOLERATED.sub("", text)
    return bare if _DIGITS.fullmatch(bare) else None


def display(digits: str) -> str:
    """The form in which Graph nodes show a business number: ``+1 555-200-0001``."""
    if len(digits) == _NANP_LENGTH and digits.startswith("1"):
        return f"+1 {digits[1:4]}-{digits[4:7]}-{digits[7:]}"
    return f"+{digits}"


def new_object_id() -> str:
    """An id as Graph objects have: 15 decimal digits."""
    return str(100_000_000_000_000 + secrets.randbelow(900_000_000_000_000))


def new_wamid(person: str, *, inbound: bool = False) -> str:
    """A message id of the platform's own structure: base64 of the digits and 72 random bits.

    Clients must treat it as opaque; that it may hold ``/``, ``+`` and ``=`` is why it is not
    simplified here.
    """
    raw = person.encode()
    direction = b"\x12" if inbound else b"\x11"
    unique = secrets.token_hex(9).upper().encode()
    packed = (
        b"\x1c\x18"
        + bytes([len(raw)])
        + raw
        + b"\x15\x02\x00"
        + direction
        + b"\x18\x12"
        + unique
        + b"\x00"
    )
    return "wamid." + base64.b64encode(packed).decode()


def new_token() -> str:
    """A business access token; real ones start with ``EAA`` as well."""
    return "EAA" + secrets.token_urlsafe(48)


def new_code() -> str:
    """The code that the signup pop-up hands to the browser."""
    return "AQ" + secrets.token_urlsafe(48)


@lru_cache(maxsize=65536)
def user_id(person: str) -> str:
    """The business-scoped user id (BSUID) that callbacks carry since 2026, stable per person."""
    return "US." + str(int.from_bytes(hashlib.sha256(person.encode()).digest()[:8], "big")).zfill(
        20
    )

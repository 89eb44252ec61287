"""Secrets at rest: encrypted (Fernet) if the service needs the plain text, otherwise SHA-256 digests.

A process must call use_key() before it encrypts or decrypts.
"""

import base64
import hashlib
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken

_cipher: Fernet


class SecretUnreadableError(Exception):
    """A stored secret was encrypted with another key."""


def use_key(key: str) -> None:
    """Derive the cipher of this process from the setting SECRET_KEY (any non-empty text)."""
    global _cipher  # noqa: PLW0603 - one cipher per process, set once by the assembly
    _cipher = Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))
    decrypt.cache_clear()


def digest(text: str) -> str:
    """The SHA-256 of a text. A lone surrogate, which a form or JSON may carry, is hashed too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def encrypt(text: str) -> str:
    return _cipher.encrypt(text.encode()).decode("ascii")


# A cache: the same few secrets serve many deliveries and sends.
@lru_cache(maxsize=4096)
def decrypt(sealed: str) -> str:
    """Decrypt a text. Raises SecretUnreadableError if the key is wrong."""
    try:
        return _cipher.decrypt(sealed.encode("ascii")).decode()
    except InvalidToken:
        raise SecretUnreadableError(
            "A stored secret cannot be decrypted: GATEWAY_SECRET_KEY is not the one that encrypted it."
        ) from None

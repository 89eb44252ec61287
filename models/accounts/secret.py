"""Secrets at rest: encrypted (Fernet) if the service needs the plain text, otherwise SHA-256 digests.

A process must call use_keys() before it encrypts or decrypts. The first key encrypts, all decrypt.
"""

import base64
import hashlib
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from peewee import TextField

_ciphers: list[Fernet]
_cipher: MultiFernet


class SecretUnreadableError(Exception):
    """A stored secret was encrypted with another key."""

    def __init__(self) -> None:
        super().__init__(
            "A stored secret cannot be decrypted: GATEWAY_SECRET_KEY is not the one that encrypted it."
        )


class SealedField(TextField):
    """A column of encrypted texts. models.accounts.rotation encrypts them again with a new key."""


def use_keys(*keys: str) -> None:
    """Derive the ciphers of this process from the keys of the setting SECRET_KEY (any non-empty texts)."""
    global _ciphers, _cipher  # noqa: PLW0603 - set once per process by the assembly
    _ciphers = [
        Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest())) for key in keys
    ]
    _cipher = MultiFernet(_ciphers)
    decrypt.cache_clear()


def digest(text: str) -> str:
    """The SHA-256 of a text. A lone surrogate, which a form or JSON may carry, is hashed too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def encrypt(text: str) -> str:
    return _cipher.encrypt(text.encode()).decode("ascii")


# A cache: the same few secrets serve many deliveries and sends.
@lru_cache(maxsize=4096)
def decrypt(sealed: str) -> str:
    """Decrypt a text. Raises SecretUnreadableError if no key fits."""
    try:
        return _cipher.decrypt(sealed.encode("ascii")).decode()
    except InvalidToken:
        raise SecretUnreadableError from None


def key_of(sealed: str) -> int | None:
    """The place of the key that encrypted a text, 0 for the first one. None if no key fits."""
    for place, cipher in enumerate(_ciphers):
        try:
            cipher.decrypt(sealed.encode("ascii"))
        except InvalidToken:
            continue
        return place
    return None


def renew(sealed: str) -> str:
    """Encrypt a text with the first key, also to copy it. Raises SecretUnreadableError if no key fits."""
    return encrypt(decrypt(sealed))

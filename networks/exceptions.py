"""The closed set of the network's errors. A caller reads only these classes.

Each carries the network's ``code`` and ``reason``; decision 15 of the design maps each class to an
answer of the API.
"""

import re
from typing import Any

# The contract promises an integer of 32 bits.
_NUMERAL = re.compile(r"-?[0-9]{1,9}")


class NetworkError(Exception):
    """A call of the messaging network failed."""

    # The whole answer that it stood in, if there was one: it may say more than the error.
    answer: Any = None

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason

    @property
    def network_code(self) -> int | None:
        """The network's own error code, None if it gave none and ``code`` is a word of ours."""
        return int(self.code) if _NUMERAL.fullmatch(self.code) else None


class RefusedError(NetworkError):
    """Refused for its content or its recipient: sending the same again is pointless."""


class ThrottledError(NetworkError):
    """Too many requests, or not possible now: nothing was sent, and a retry may succeed."""


class MediaGoneError(NetworkError):
    """The network has no such media object, or no longer has it. The number is unchanged."""


class NumberLostError(NetworkError):
    """The number or its token is gone: it must be connected again."""


class NumberBannedError(NetworkError):
    """The platform banned the number."""


class NumberInDoubtError(NetworkError):
    """Not permitted or blocked, perhaps for a while: the number must be checked with the network."""


class AccountActionError(NetworkError):
    """The number's owner must act at the platform first, for example pay. The number stays connected."""


class NotReachedError(NetworkError):
    """The network certainly did not get the request."""


class AmbiguousError(NetworkError):
    """The network may or may not have accepted the request: timeout, lost connection, 5xx."""

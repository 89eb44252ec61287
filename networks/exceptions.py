"""The errors of the network. Callers handle only these classes.

Each has the network's ``code`` and ``reason``. services.network_failures maps each class to a response
of the API.
"""

import re
from typing import Any

# The contract promises an integer of 32 bits.
_NUMERAL = re.compile(r"-?[0-9]{1,9}")


class NetworkError(Exception):
    """A call of the messaging network failed."""

    # The complete response with the error, or None. It may contain more than the error.
    answer: Any = None

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason

    @property
    def network_code(self) -> int | None:
        """The network's error code, None if it sent none and ``code`` is one of the gateway's names."""
        return int(self.code) if _NUMERAL.fullmatch(self.code) else None


class RefusedError(NetworkError):
    """Refused because of the content or the recipient. The same request fails again."""


class ThrottledError(NetworkError):
    """Too many requests, or temporarily impossible. Nothing was sent, and a retry may succeed."""


class MediaGoneError(NetworkError):
    """The network does not have the media object, or no longer has it. The number is unchanged."""


class PageGoneError(NetworkError):
    """The network has no such page of a list, or no longer has it. The number is unchanged."""


class NotOfferedError(NetworkError):
    """The network lacks this capability. Nothing was requested."""


class NumberLostError(NetworkError):
    """The number or its token is lost. The number must be connected again."""


class NumberBannedError(NetworkError):
    """The platform banned the number."""


class NumberInDoubtError(NetworkError):
    """Not permitted or blocked, perhaps temporarily. The number must be checked at the network."""


class AccountActionError(NetworkError):
    """The number's owner must first act at the platform, for example pay. The number stays connected."""


class NotReachedError(NetworkError):
    """The request certainly did not reach the network."""


class AmbiguousError(NetworkError):
    """The network may have accepted the request: after a timeout, a lost connection or a 5xx."""


class ContentError(Exception):
    """The network would refuse the content of a message. ``field`` is a JSON pointer into the content."""

    def __init__(self, problem: str, field: str) -> None:
        super().__init__(problem)
        self.field = field

"""The closed set of ways in which the network can fail us. A caller reads only these classes.

Each carries the network's ``code`` and ``reason``; decision 15 of the design maps each class to an
answer of the API.
"""

import re

# As long as a whole number of 32 bits may be, which is what the contract promises.
_NUMERAL = re.compile(r"-?[0-9]{1,9}")


class NetworkError(Exception):
    """Something went wrong with the messaging network."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason

    @property
    def network_code(self) -> int | None:
        """The network's own error code; None where ``code`` is a word of ours, for it told none."""
        return int(self.code) if _NUMERAL.fullmatch(self.code) else None


class RefusedError(NetworkError):
    """Refused for its content or its recipient: sending the same again is pointless."""


class ThrottledError(NetworkError):
    """Too much at once, or just not now: nothing was sent, later it may be."""


class MediaGoneError(NetworkError):
    """The network has no such media object, or no longer. The number is as it was."""


class NumberLostError(NetworkError):
    """The number or its token is gone: it must be connected again."""


class NumberBannedError(NetworkError):
    """The platform banned the number."""


class NumberInDoubtError(NetworkError):
    """Not permitted or blocked, perhaps for a while: what the number is now, the network must be asked."""


class AccountActionError(NetworkError):
    """The number's owner has to act at the platform first, for example to pay. The number stays."""


class NotReachedError(NetworkError):
    """The network certainly did not get the request."""


class AmbiguousError(NetworkError):
    """The network may or may not have accepted the request: timeout, lost connection, 5xx."""

"""The errors of the network. Callers handle only these classes.

Each has the network's ``code`` and ``reason``. services.network_failures maps each class to a response
of the API.
"""

import re
from dataclasses import dataclass
from typing import Any, TypeVar

# The contract promises an integer of 32 bits.
_NUMERAL = re.compile(r"-?[0-9]{1,9}")


Other = TypeVar("Other", bound="NetworkError")


@dataclass(frozen=True)
class ErrorDetails:
    """What the network said about an error next to code and reason. None for what it did not say.

    ``title`` and ``message`` are for the people who use the service, ``text`` is for programmers.
    ``trace_id`` is the network's identifier of the call. ``restriction`` is the network's name of a
    restriction, and ``restricted_until`` its end in milliseconds since the epoch. ``retry_after`` is in
    seconds.
    """

    title: str | None = None
    message: str | None = None
    text: str | None = None
    trace_id: str | None = None
    restriction: str | None = None
    restricted_until: int | None = None
    retry_after: int | None = None


class NetworkError(Exception):
    """A call of the messaging network failed. Its text is for the log, and so without the network's texts."""

    details = ErrorDetails()
    # The complete response with the error, or None. It may contain more than the error.
    answer: Any = None

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        # The network's texts may repeat what a person wrote. Those of the gateway do not.
        trace = self.details.trace_id and f"trace {self.details.trace_id}"
        words = [self.code, self.reason if self.network_code is None else trace]
        return " ".join(filter(None, words))

    def converted(self, kind: type[Other]) -> Other:
        """The same error as another class, for a call in which its code means something else."""
        error = kind(self.code, self.reason)
        error.details, error.answer = self.details, self.answer
        return error

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


class TemplateGoneError(NetworkError):
    """The network does not have the template, or no longer has it. The number is unchanged."""


class TemplateExistsError(NetworkError):
    """The network already has a template with this name and language. The number is unchanged."""


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

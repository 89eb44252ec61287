"""The errors of the domain, by their codes in the contract (docs/errors.md).

``resources.error`` has the status of each code.
"""

from collections.abc import Mapping


class DomainError(Exception):
    """A use case failed. ``message`` says what is wrong and what to do.

    ``retry_after`` is in seconds. The other parameters are details for programs, None if unknown.
    ``field`` is a JSON pointer (RFC 6901) into the request body or to a query parameter. ``network_code`` is
    the messaging network's error code, and ``network_words`` are further details of its error.
    ``message_id`` is the message that was stored for the request. ``scope`` is what the API key lacks.
    ``since`` is the time from which events have to be read again.
    """

    code: str

    def __init__(
        self,
        message: str,
        *,
        retry_after: int | None = None,
        field: str | None = None,
        network_code: int | None = None,
        message_id: str | None = None,
        scope: str | None = None,
        since: str | None = None,
        network_words: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        details = {
            "networkCode": network_code,
            "field": field,
            "messageId": message_id,
            "scope": scope,
            "since": since,
            **(network_words or {}),
        }
        self.details: dict[str, int | str] = {
            name: value for name, value in details.items() if value is not None
        }


class InvalidError(DomainError):
    """The values of the request are not valid, or do not fit together."""

    code = "VALIDATION_ERROR"


class UnauthorizedError(DomainError):
    """The request has no valid proof of its sender."""

    code = "UNAUTHORIZED"


class ForbiddenError(DomainError):
    """The resource belongs to a different account, or the API key may not use it."""

    code = "FORBIDDEN"


class NotFoundError(DomainError):
    """The resource does not exist."""

    code = "NOT_FOUND"


class ConflictError(DomainError):
    """The state of the resource does not allow the request."""

    code = "CONFLICT"


class TooLargeError(DomainError):
    """The content is larger than allowed."""

    code = "PAYLOAD_TOO_LARGE"


class UnsupportedTypeError(DomainError):
    """The type of the content is not supported."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class RateLimitedError(DomainError):
    """Too many requests, or too much work at the moment."""

    code = "RATE_LIMITED"


class FailedError(DomainError):
    """The gateway, its database or the network failed."""

    code = "INTERNAL_ERROR"


class UnavailableError(DomainError):
    """The gateway cannot do it at the moment, and nothing was changed."""

    code = "SERVICE_UNAVAILABLE"

"""The errors that go out (specification, Errors): one table of codes, one shape."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

CODES = {
    400: "VALIDATION_ERROR",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "REQUEST_TIMEOUT",
    409: "CONFLICT",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "RATE_LIMITED",
    431: "HEADERS_TOO_LARGE",
    500: "INTERNAL_ERROR",
    503: "SERVICE_UNAVAILABLE",
}


@dataclass(frozen=True)
class Details:
    """What a program can act on (decision 30 of the design), as far as it is known.

    ``network_code`` is the messaging network's error code, ``field`` a JSON pointer (RFC 6901) into the
    request body, ``message_id`` the message that was written down for the request.
    """

    network_code: int | None = None
    field: str | None = None
    message_id: str | None = None

    def as_json(self) -> dict[str, int | str]:
        """The members that are known, as the contract calls them."""
        members = {
            "networkCode": self.network_code,
            "field": self.field,
            "messageId": self.message_id,
        }
        return {name: value for name, value in members.items() if value is not None}


NO_DETAILS = Details()


class ApiError(Exception):
    """A response other than success. ``message`` says what is wrong and what to do.

    ``headers`` go out with it; ``retry_after``, in seconds, is one of them.
    """

    status = 500

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        details: Details = NO_DETAILS,
    ) -> None:
        super().__init__(message)
        self.status = status or self.status
        self.message = message
        self.retry_after = retry_after
        told = {} if retry_after is None else {"Retry-After": str(retry_after)}
        self.headers = told | dict(headers or {})
        self.details = details

    @property
    def body(self) -> str:
        """The one error shape."""
        error = {"code": CODES[self.status], "message": self.message, "status": self.status}
        told = self.details.as_json()
        # Not orjson: a text that a network brings may have half a character in it.
        return json.dumps(
            {"error": error | {"details": told} if told else error}, separators=(",", ":")
        )


class InvalidError(ApiError):
    """The request is well-formed JSON of the right shape, but makes no sense."""

    status = 400


class UnauthorizedError(ApiError):
    """The key or the signature is missing or wrong."""

    status = 401


class ForbiddenError(ApiError):
    """The resource belongs to a different account."""

    status = 403


class NotFoundError(ApiError):
    """The resource does not exist."""

    status = 404


class ConflictError(ApiError):
    """The state of the resource does not allow it."""

    status = 409


class PayloadTooLargeError(ApiError):
    """The body or file is larger than is allowed."""

    status = 413


class UnsupportedMediaTypeError(ApiError):
    """The file is of a type that the platform does not take."""

    status = 415


class ThrottledError(ApiError):
    """Too much at once."""

    status = 429


class ServerError(ApiError):
    """It is our fault, or the network's."""

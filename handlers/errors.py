"""The errors that a handler raises (specification, Errors), and the one shape of them all."""

import json
from dataclasses import dataclass


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


def error_json(status: int, code: str, message: str, details: Details = NO_DETAILS) -> str:
    """The one error shape."""
    error = {"code": code, "message": message, "status": status}
    told = details.as_json()
    # Not orjson: a text that a network brings may have half a character in it.
    return json.dumps(
        {"error": error | {"details": told} if told else error}, separators=(",", ":")
    )


class ApiError(Exception):
    """An answer other than success. ``message`` says what is wrong and what to do."""

    status = 500
    code = "INTERNAL_ERROR"

    def __init__(
        self, message: str, *, retry_after: int | None = None, details: Details = NO_DETAILS
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.details = details


class InvalidError(ApiError):
    """400: the request is well-formed JSON of the right shape, but makes no sense."""

    status = 400
    code = "VALIDATION_ERROR"


class UnauthorizedError(ApiError):
    """401: the key or the signature is missing or wrong."""

    status = 401
    code = "UNAUTHORIZED"


class ForbiddenError(ApiError):
    """403: the resource belongs to a different account."""

    status = 403
    code = "FORBIDDEN"


class NotFoundError(ApiError):
    """404: the resource does not exist."""

    status = 404
    code = "NOT_FOUND"


class ConflictError(ApiError):
    """409: the state of the resource does not allow it."""

    status = 409
    code = "CONFLICT"


class PayloadTooLargeError(ApiError):
    """413: the file is larger than the platform takes."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"


class UnsupportedMediaTypeError(ApiError):
    """415: the file is of a type that the platform does not take."""

    status = 415
    code = "UNSUPPORTED_MEDIA_TYPE"


class ThrottledError(ApiError):
    """429: too much at once."""

    status = 429
    code = "RATE_LIMITED"


class ServerError(ApiError):
    """500: it is our fault, or the network's."""

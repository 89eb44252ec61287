"""Error responses of the API (docs/errors.md): the codes and the JSON object."""

import json
from collections.abc import Mapping
from typing import Any

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


class ApiError(Exception):
    """An error response. ``message`` says what is wrong and what to do.

    ``headers`` are headers of the response. ``retry_after``, in seconds, becomes one of them. The other
    parameters are details for programs, None if unknown. ``field`` is a JSON
    pointer (RFC 6901) into the request body or to a query parameter. ``network_code`` is the messaging
    network's error code. ``message_id`` is the message that was stored for the request. ``since`` is the time
    from which events have to be read again.
    """

    status = 500

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        field: str | None = None,
        network_code: int | None = None,
        message_id: str | None = None,
        since: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status or self.status
        self.message = message
        self.retry_after = retry_after
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
        details = {
            "networkCode": network_code,
            "field": field,
            "messageId": message_id,
            "since": since,
        }
        self.details: dict[str, int | str] = {
            name: value for name, value in details.items() if value is not None
        }

    @property
    def body(self) -> str:
        """The ErrorResponse object as JSON text."""
        error: dict[str, Any] = {
            "code": CODES[self.status],
            "message": self.message,
            "status": self.status,
        }
        if self.details:
            error["details"] = self.details
        # orjson fails for half of a surrogate pair, which a text of the network may contain.
        return json.dumps({"error": error}, separators=(",", ":"))


class InvalidError(ApiError):
    """The values of the request are not valid, or do not fit together."""

    status = 400


class ForbiddenError(ApiError):
    """The resource belongs to a different account."""

    status = 403


class NotFoundError(ApiError):
    """The resource does not exist."""

    status = 404


class ConflictError(ApiError):
    """The state of the resource does not allow the request."""

    status = 409


class ThrottledError(ApiError):
    """Too many requests, or too much work at the moment."""

    status = 429

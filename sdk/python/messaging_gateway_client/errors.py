"""The errors that the client raises, and which of them an HTTP response is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The code of an error without a response. The others are those of the contract.
NO_RESPONSE = "NO_RESPONSE"


class GatewayError(Exception):
    """A request failed. Decide by ``code``, which is stable; the wording of ``message`` is not.

    ``details`` can have the ``field`` and the ``messageId``. ``retry_after`` is in seconds.
    ``is_replayed`` means that it is the stored response of an earlier request with the same Idempotency-Key.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        is_replayed: bool = False,
    ) -> None:
        super().__init__(f"{code}: {message}" if status is None else f"{status} {code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details: dict[str, Any] = dict(details or {})
        self.request_id = request_id
        self.retry_after = retry_after
        self.is_replayed = is_replayed


class InvalidRequestError(GatewayError):
    """400: the request is not valid, or the network refused the message."""


class AuthenticationError(GatewayError):
    """401: the API key is missing, wrong or revoked."""


class PermissionDeniedError(GatewayError):
    """403: the key may not do this, or the resource belongs to another account."""


class NotFoundError(GatewayError):
    """404: there is no such resource."""


class ConflictError(GatewayError):
    """409: the state does not allow this."""


class RateLimitedError(GatewayError):
    """429: too many requests, or the network throttles the number."""


class ServerError(GatewayError):
    """5xx: the gateway failed, or the network gave no clear answer."""


class NoResponseError(GatewayError):
    """There is no usable response: no connection, a cut or foreign response, or no time left.

    ``may_have_arrived`` is false if the gateway certainly did nothing.
    """

    def __init__(self, message: str, *, may_have_arrived: bool, **fields: Any) -> None:
        super().__init__(NO_RESPONSE, message, **fields)
        self.may_have_arrived = may_have_arrived


CLASSES: dict[int, type[GatewayError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitedError,
}
SERVER_ERRORS = 500


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> GatewayError:
    """The error of a response that is no success."""
    pause, request_id = seconds_of(headers.get("Retry-After")), headers.get("X-Request-Id")
    of_headers: dict[str, Any] = {"retry_after": pause, "request_id": request_id}
    try:
        error = json.loads(body)["error"]
        code, message = str(error["code"]), str(error["message"])
        details = dict(error.get("details") or {})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = f"The response with status {status} is not the gateway's. Check the address."
        return NoResponseError(text, may_have_arrived=True, status=status, **of_headers)
    kind = CLASSES.get(status, ServerError if status >= SERVER_ERRORS else GatewayError)
    is_replayed = headers.get("Idempotency-Replayed") == "true"
    fields = {"details": details, "is_replayed": is_replayed, **of_headers}
    return kind(code, message, status=status, **fields)


def seconds_of(header: str | None) -> float | None:
    """The seconds of a ``Retry-After``, None without one. The gateway sends no dates."""
    return float(header) if header and header.isascii() and header.isdigit() else None

"""Everything that can go wrong, rendered in the one error shape (specification, Errors).

Connexion calls an error handler that is no coroutine in a thread, which costs more than to render.
"""

import http
import logging
from dataclasses import dataclass, field

from connexion.exceptions import ProblemException
from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from starlette.exceptions import HTTPException

from dashboard.errors import error_page, is_page
from dashboard.pages import CONTENT_TYPE as HTML
from dashboard.pages import Page
from handlers.errors import NO_DETAILS, ApiError, Details, error_json

logger = logging.getLogger(__name__)

CODES = {
    400: "VALIDATION_ERROR",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "CONFLICT",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "RATE_LIMITED",
    431: "HEADERS_TOO_LARGE",
    500: "INTERNAL_ERROR",
    503: "SERVICE_UNAVAILABLE",
}
# Answered to a request that did not come whole, so no operation of the contract has it.
UNREAD_CODES = {408: "REQUEST_TIMEOUT"}
JSON = "application/json"
CRASH_MESSAGE = "Something went wrong on our side. The request may be repeated."


@dataclass(frozen=True)
class ErrorAnswer:
    """An error as it goes out."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    details: Details = NO_DETAILS

    @property
    def body(self) -> bytes:
        """The one error shape, as JSON."""
        code = (CODES | UNREAD_CODES)[self.status]
        return error_json(self.status, code, self.message, self.details).encode()

    def at(self, path: str) -> Page:
        """As it goes out at ``path``: a page where people look, JSON everywhere else."""
        if is_page(path):
            page = error_page(self.status, self.headers, path)
            return Page(page.status, page.body, page.headers | {"Content-Type": HTML})
        headers = self.headers | {"Content-Type": JSON}
        if self.status == http.HTTPStatus.UNAUTHORIZED:
            # RFC 9110 demands it of every 401.
            headers["WWW-Authenticate"] = "Bearer"
        return Page(self.status, self.body, headers)


def from_api_error(error: ApiError) -> ErrorAnswer:
    """A handler's error."""
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return ErrorAnswer(error.status, error.message, headers, error.details)


def from_http_error(error: HTTPException, path: str, method: str) -> ErrorAnswer:
    """An error of the framework: routing, validation, security."""
    status = error.status_code if error.status_code in CODES else _nearest(error.status_code)
    headers = {k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"}
    detail = str(error.detail or "")
    match status:
        case 404:
            return ErrorAnswer(404, f"There is nothing at {path}.")
        case 405:
            message = f"The method {method} is not allowed here. See the header Allow."
            return ErrorAnswer(405, message, headers)
        case 500:
            return ErrorAnswer(500, CRASH_MESSAGE)
        case _:
            details = _details(error)
            return ErrorAnswer(status, detail or http.HTTPStatus(status).phrase, headers, details)


def _details(error: HTTPException) -> Details:
    """What our validation says of an error beyond its text."""
    told = error.ext if isinstance(error, ProblemException) else None
    return Details(**told) if told else NO_DETAILS


def _nearest(status: int) -> int:
    return 400 if status < http.HTTPStatus.INTERNAL_SERVER_ERROR else 500


def _respond(answer: ErrorAnswer, path: str) -> ConnexionResponse:
    page = answer.at(path)
    content_type = page.headers.pop("Content-Type")
    return ConnexionResponse(
        status_code=page.status,
        mimetype=content_type.partition(";")[0],
        content_type=content_type,
        body=page.body,
        headers=page.headers,
    )


async def render_api_error(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    """Connexion's error handler for ApiError."""
    assert isinstance(error, ApiError)  # noqa: S101 - registered for this class only
    return _respond(from_api_error(error), request.url.path)


async def render_http_error(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    """Connexion's error handler for its own and the framework's errors."""
    assert isinstance(error, HTTPException | ProblemException)  # noqa: S101 - as above
    path = request.url.path
    answer = from_http_error(error, path, request.method)
    if answer.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        # A response of ours that Connexion cannot send.
        logger.error("crash", exc_info=error)
    return _respond(answer, path)


async def render_crash(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    """Connexion's error handler for everything else: logged here, told to nobody."""
    logger.error("crash", exc_info=error)
    return _respond(ErrorAnswer(500, CRASH_MESSAGE), request.url.path)

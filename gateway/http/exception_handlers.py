"""Error responses in the common shape (docs/errors.md), to which every exception leads."""

import http
import logging
from collections.abc import Mapping

from connexion.exceptions import ProblemException
from starlette.exceptions import HTTPException
from starlette.responses import Response
from werkzeug.exceptions import HTTPException as FlaskError

from dashboard.error_pages import error_page, is_page
from gateway.ops.outages import is_full
from models.database import UnsureError
from models.errors import DomainError
from resources.error import CODES, STATUS, error_text

logger = logging.getLogger(__name__)

UNSURE_MESSAGE = (
    "The gateway's database stopped responding while it stored the change. It may be stored."
    " Read it before you repeat the request."
)
FULL_MESSAGE = (
    "A disk of the gateway is full or fails. Repeat the request when its operator has made room."
)
CRASH_MESSAGE = "Something went wrong on our side. The request may be repeated."


class ApiError(Exception):
    """An error response. ``message`` says what is wrong and what to do. ``retry_after`` is in seconds."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 500,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        details: Mapping[str, int | str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
        self.body = error_text(CODES[status], message, details or {})


def response_to(error: ApiError, path: str) -> Response:
    """The error response at ``path``: a page for people, JSON elsewhere."""
    if is_page(path):
        page = error_page(error.status, error.headers, path)
        return Response(page.data, page.status_code, dict(page.headers))
    headers = error.headers | {"Content-Type": "application/json"}
    if error.status == http.HTTPStatus.UNAUTHORIZED:
        # RFC 9110 requires it for every 401.
        headers["WWW-Authenticate"] = "Bearer"
    return Response(error.body, error.status, headers)


def as_api_error(error: Exception, path: str, method: str) -> ApiError:
    """The response to any error. An unexpected error is logged and not shown."""
    match error:
        case ApiError():
            return error
        case DomainError(message=text, code=code):
            after, details = error.retry_after, error.details
            return ApiError(text, status=STATUS[code], retry_after=after, details=details)
        case FlaskError(code=int(status)):
            methods = getattr(error, "valid_methods", None)
            headers = {"Allow": ", ".join(sorted(methods))} if methods else None
            return as_api_error(HTTPException(status, error.description, headers), path, method)
        case HTTPException() if error.status_code < http.HTTPStatus.INTERNAL_SERVER_ERROR:
            return _of_framework(error, path, method)
    logger.error("crash", exc_info=error)
    if isinstance(error, UnsureError):
        return ApiError(UNSURE_MESSAGE)
    return ApiError(FULL_MESSAGE if is_full(error) else CRASH_MESSAGE)


def _of_framework(error: HTTPException, path: str, method: str) -> ApiError:
    """An error of routing, validation or security."""
    match error.status_code:
        case 404:
            return ApiError(f"There is nothing at {path}.", status=404)
        case 405:
            allowed = {k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"}
            message = f"The method {method} is not allowed here. See the header Allow."
            return ApiError(message, status=405, headers=allowed)
    status = error.status_code if error.status_code in CODES else http.HTTPStatus.BAD_REQUEST
    message = str(error.detail or http.HTTPStatus(status).phrase)
    # Our validation puts the wrong field into ``ext``.
    details = error.ext if isinstance(error, ProblemException) else None
    return ApiError(message, status=status, details=details)

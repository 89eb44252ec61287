"""Error responses of HTTP: those of the protocol, and those of the domain's errors."""

from collections.abc import Mapping

from resources.error import CODES, STATUS, error_text
from services.errors import DomainError


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

    @classmethod
    def of(cls, error: DomainError) -> "ApiError":
        """The response to an error of the domain."""
        return cls(
            error.message,
            status=STATUS[error.code],
            retry_after=error.retry_after,
            details=error.details,
        )

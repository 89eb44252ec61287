"""The errors that a handler raises (specification, Errors). The assembly renders them."""


class ApiError(Exception):
    """An answer other than success. ``message`` says what is wrong and what to do."""

    status = 500
    code = "INTERNAL_ERROR"

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


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

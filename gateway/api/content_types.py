"""The content type of a body. An operation refuses others with 415 and the types that it accepts."""

from connexion.exceptions import UnsupportedMediaTypeProblem
from connexion.middleware.request_validation import (
    RequestValidationAPI,
    RequestValidationMiddleware,
    RequestValidationOperation,
)
from connexion.operations import AbstractOperation
from starlette.datastructures import Headers
from starlette.types import Scope

JSON = "application/json"
FORM = "multipart/form-data"
UTF_8 = {"utf-8", "utf8"}
# How much of a header's value an error repeats.
MAX_GIVEN = 64


class _Operation(RequestValidationOperation):
    """Connexion's validation of an operation that takes bodies of the ``accepted`` types."""

    accepted: str

    def validate_mime_type(self, mime_type: str) -> None:
        """Raise UnsupportedMediaTypeProblem if the operation has a body, and of another type."""
        try:
            super().validate_mime_type(mime_type)
        except UnsupportedMediaTypeProblem:
            raise unsupported("content type", mime_type, self.accepted) from None


class _Operations(RequestValidationAPI):
    def make_operation(self, operation: AbstractOperation) -> RequestValidationOperation:
        made = _Operation(
            self.next_app,
            operation=operation,
            strict_validation=self.strict_validation,
            validator_map=self.validator_map,
        )
        made.accepted = " or ".join(operation.consumes)
        return made


class Validation(RequestValidationMiddleware):
    """Connexion's validation of requests."""

    api_cls = _Operations


def check_content_type(scope: Scope, accepted: str) -> dict[str, str]:
    """The parameters of the content type. Raises 415 for none, several, or an unsupported content coding.

    Validation has already refused media types that the operation does not accept.
    """
    headers = Headers(scope=scope)
    given = headers.getlist("content-type")
    if len(given) != 1 or not given[0]:
        raise unsupported("content type", ", ".join(given) or "(none)", accepted)
    pairs = (parameter.partition("=") for parameter in given[0].split(";")[1:])
    parameters = {name.strip().lower(): value.strip("\"' ") for name, _, value in pairs}
    if (charset := parameters.get("charset", "utf-8")).lower() not in UTF_8:
        raise unsupported("charset", charset, "UTF-8")
    for coding in headers.getlist("content-encoding"):
        if coding.lower() != "identity":
            raise unsupported("content encoding", coding, "the body as it is")
    return parameters


def unsupported(what: str, given: str, supported: str) -> UnsupportedMediaTypeProblem:
    """The error 415 for a value of a header."""
    return UnsupportedMediaTypeProblem(
        f'The {what} "{given[:MAX_GIVEN]}" is not supported. Send {supported}.'
    )

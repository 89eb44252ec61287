"""Each operation's checks of a request, made once from the contract, in Connexion's middleware.

Connexion's own makes its validators and their parsers anew for each request.
"""

from typing import Any

from connexion.middleware.abstract import RoutedAPI, RoutedMiddleware
from connexion.operations import AbstractOperation
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.validation import (
    FORM_TYPE,
    MEDIA_TYPE,
    FormBodyValidator,
    JsonBodyValidator,
    ParameterValidator,
)


class CheckedOperation:
    """Lets requests pass that fit one operation. Others are refused as Connexion's problems."""

    def __init__(self, app: ASGIApp, operation: AbstractOperation) -> None:
        self._app = app
        self._parameters = ParameterValidator(operation.parameters)
        self._body = _body_validator(operation)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        self._parameters.validate(scope)
        if self._body is not None:
            receive = await self._body.check(scope, receive)
        await self._app(scope, receive, send)


def _body_validator(
    operation: AbstractOperation,
) -> JsonBodyValidator | FormBodyValidator | None:
    match operation.consumes:
        case []:
            return None
        case [media_type] if media_type == MEDIA_TYPE:
            is_required = operation.request_body.get("required", False)
            return JsonBodyValidator(operation.body_schema(MEDIA_TYPE), required=is_required)
        case [media_type] if media_type == FORM_TYPE:
            return FormBodyValidator()
    raise NotImplementedError(f"{operation.operation_id} takes a body that nobody checks")


class _Checks(RoutedAPI):
    """The operations of one contract."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.add_paths()

    def make_operation(self, operation: AbstractOperation) -> CheckedOperation:
        return CheckedOperation(self.next_app, operation)


class Checks(RoutedMiddleware):
    """Connexion's seam: finds the checks of the operation that a request asks for."""

    api_cls = _Checks

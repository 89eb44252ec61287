"""Traces, where an operator wants them (docs/decisions/0026-traces-are-an-extra.md).

OpenTelemetry's own variables say whether: without an endpoint nothing of it is imported.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.api.operations import KEY, METHODS, Operation
from gateway.http.observation import UNSAID, account_id_of
from gateway.ops.logs import current_request
from gateway.settings import SettingsError
from tasks import spans

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SERVER_ERROR = 500


def _nothing() -> None:
    pass


_close: Callable[[], None] = _nothing


def endpoint_variable() -> str | None:
    """The variable that names a collector; None when traces are not wanted."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    return next((name for name in ENDPOINTS if os.environ.get(name)), None)


def start(part: str) -> None:
    """Trace this process, the web or the worker, if a collector is named.

    Raises SettingsError when one is, and what speaks to it is not installed.
    """
    global _close  # noqa: PLW0603 - one tracer per process
    if check() is None:
        return
    from gateway.ops.otel import OtelTracer, sending  # noqa: PLC0415 - an extra, which need not be there

    tracer = OtelTracer(part, sending())
    spans.use(tracer)
    _close = tracer.close


def check() -> str | None:
    """The variable that names a collector, if any. Raises SettingsError when the extra is missing."""
    if (variable := endpoint_variable()) is None:
        return None
    try:
        import gateway.ops.otel  # noqa: F401, PLC0415 - as above
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise SettingsError(
            f"{variable} is set, but traces need the extra: pip install 'messaging-gateway[otel]'"
        ) from None
    return variable


def stop() -> None:
    """Send what was gathered, within a second. Doing it again does nothing."""
    global _close
    close, _close = _close, _nothing
    close()


@dataclass(frozen=True)
class Traced:
    """Wraps the edge of a process that is traced: a span for each request, probes apart."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http" and scope[KEY].logged:
            await self._trace(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _trace(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation: Operation = scope[KEY]
        method = scope["method"] if scope["method"] in METHODS else UNSAID
        request = current_request.get()
        about = {
            "http.request.method": method,
            "http.route": operation.route,
            "gateway.request_id": request.request_id if request else None,
        }
        name = f"{method} {operation.route}"
        with spans.span(name, spans.Kind.SERVER, about, _parent(scope)) as span:
            await self.app(scope, receive, _noting(send, span))
            # The edge knows by now whose request it was.
            span.note({"gateway.account_id": account_id_of(scope)})


def _noting(send: Send, span: spans.Span) -> Send:
    """``send``, which tells the span what the response says of itself."""

    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            span.note({"http.response.status_code": status}, failed=status >= SERVER_ERROR)
        await send(message)

    return noting


def _parent(scope: Scope) -> str | None:
    given = [value for name, value in scope["headers"] if name == b"traceparent"]
    return given[0].decode("latin-1") if len(given) == 1 else None

"""What an operator sees of a request: its identifier, and one line of what came of it.

Sits around the edge, so that refusals are seen like answers. Probes are not logged.
"""

import logging
import re
import time
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.api.operations import KEY, METHODS, Operation, Operations
from gateway.http.auth import STATE_KEY, USER_KEY
from gateway.ops.logs import RequestContext, current_request
from gateway.ops.metrics import REQUESTS
from handlers.facts import facts
from models.identifier import new_id

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"
UNSAID = "*"
_ACCEPTABLE = re.compile(rb"[A-Za-z0-9._-]{1,128}")


def new_request_id() -> str:
    """An identifier for a request that brought none."""
    return new_id("req")


@dataclass
class _Exchange:
    """A response on its way out. ``status`` is None while none has begun."""

    send_on: Send
    request_id: str
    began: float = field(default_factory=time.perf_counter)
    status: int | None = None
    size: int = 0

    async def send(self, message: Message) -> None:
        """Pass a part of the response on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", []), (HEADER, self.request_id.encode())]
            message = {**message, "headers": headers}
        else:
            self.size += len(message.get("body", b""))
        await self.send_on(message)


@dataclass(frozen=True)
class Observed:
    """The outermost layer. It finds what a request asks for, and keeps it in the scope for all others.

    The line names the route in place of the path: the slug of a signup link lets its bearer in.
    """

    app: ASGIApp
    operations: Operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = RequestContext(_request_id(scope))
        exchange = _Exchange(send, context.request_id)
        operation = scope[KEY] = self.operations.find(scope["method"], scope["path"])
        token, noted = current_request.set(context), facts.set(context.facts)
        try:
            await self.app(scope, receive, exchange.send)
        finally:
            if operation.logged:
                self._log(scope, operation, exchange, context)
            current_request.reset(token)
            facts.reset(noted)

    @staticmethod
    def _log(
        scope: Scope, operation: Operation, exchange: _Exchange, context: RequestContext
    ) -> None:
        method = scope["method"]
        fields = {
            "method": method if method in METHODS else UNSAID,
            "path": operation.route,
            "status": exchange.status,
            "duration_ms": round((time.perf_counter() - exchange.began) * 1000, 1),
            "bytes": exchange.size,
            "account_id": account_id_of(scope),
        }
        REQUESTS.labels(status=str(exchange.status)).inc()
        logger.info("request", extra={"fields": fields | context.facts})


def account_id_of(scope: Scope) -> str | None:
    """Whose request it was, by its key or by the session of the dashboard's user."""
    account, user = scope.get(STATE_KEY), scope.get(USER_KEY)
    if account is not None:
        return str(account.id)
    return None if user is None else str(user.account_id)


def _request_id(scope: Scope) -> str:
    """The client's own identifier if it gave exactly one that is fit for a log, else a new one."""
    given = [value for name, value in scope["headers"] if name == HEADER]
    if len(given) == 1 and _ACCEPTABLE.fullmatch(given[0]):
        return str(given[0].decode())
    return new_request_id()

"""What an operator sees of a request: its identifier, and one line of what came of it.

Sits around the edge, so that refusals are seen like answers. Probes are not logged.
"""

import logging
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http.auth import STATE_KEY, USER_KEY
from gateway.http.methods import METHODS
from gateway.ops.logs import RequestContext, current_request
from gateway.ops.metrics import REQUESTS
from models.identifier import new_id

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"
PROBES = {"/healthz", "/readyz", "/metrics"}
UNSAID = "*"
_ACCEPTABLE = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_OUR_ID = re.compile(r"[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}")
KNOWN_METHODS = {method.upper() for method in METHODS}


def new_request_id() -> str:
    """An identifier for a request that brought none."""
    return new_id("req")


def words_of(templates: Iterable[str]) -> frozenset[str]:
    """The literal segments of path templates (``/numbers/{number_id}``, ``/connect/<slug>``)."""
    segments = {segment for template in templates for segment in template.split("/")}
    return frozenset(s for s in segments if not s.startswith(("{", "<")))


def safe_path(path: str, words: frozenset[str]) -> str:
    """The path as it may be logged: words of our routes and our identifiers; of the rest only its place.

    What stands there may be the slug of a signup link, which lets its bearer in, or anything at all.
    """
    segments = path.split("/")
    return "/".join(s if s in words or _OUR_ID.fullmatch(s) else UNSAID for s in segments)


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
    """Wraps the application; ``words`` are the segments of paths that may be logged."""

    app: ASGIApp
    words: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = RequestContext(_request_id(scope))
        exchange = _Exchange(send, context.request_id)
        token = current_request.set(context)
        try:
            await self.app(scope, receive, exchange.send)
        finally:
            if scope["path"] not in PROBES:
                self._log(scope, exchange, context)
            current_request.reset(token)

    def _log(self, scope: Scope, exchange: _Exchange, context: RequestContext) -> None:
        method = scope["method"]
        fields = {
            "method": method if method in KNOWN_METHODS else UNSAID,
            "path": safe_path(scope["path"], self.words),
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

"""Admits requests: identifies the caller by API key or session, and counts the request.

The caller is identified once, because the rate limit needs the account too. The API and the pages read the
result.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from peewee import DatabaseError
from starlette.datastructures import Headers
from starlette.types import Scope

from dashboard.cookies import session_token
from gateway.http.rate_limit import RateLimiter, Window
from gateway.settings import ANONYMOUS
from models.accounts.account import Account
from models.accounts.api_key import ApiKey
from models.accounts.client_address import one_client
from models.accounts.user import User
from models.accounts.user_session import UserSession
from models.database import answers_at_once, commit
from services.telemetry import request_fields

logger = logging.getLogger(__name__)

# The key of the Caller in a request's scope.
CALLER = "gateway.caller"
SCHEME = "bearer"
DASHBOARD = "/dashboard/"
ADMITTING_THREADS = 20
# After this time a request's session is looked up again: its body may take minutes, and the session may end.
FRESH_SECONDS = 1

_noting: dict[str, asyncio.Task[None]] = {}


@dataclass(frozen=True)
class Caller:
    """Who sent a request: the account of its valid key, or a user who is signed in to the dashboard."""

    account: Account | None = None
    key: ApiKey | None = None
    session: UserSession | None = None
    is_suspended: bool = False
    # Whether the time of this use of the key must be stored.
    is_use_due: bool = False
    at: float = field(default_factory=time.monotonic, compare=False)

    @property
    def user(self) -> User | None:
        """The user of the session."""
        return None if self.session is None else self.session.user

    @property
    def account_id(self) -> str | None:
        """The account of the key, or else that of the user."""
        if self.account is not None:
            return self.account.id
        return None if self.user is None else str(self.user.account_id)

    def counted(self, client: tuple[str, int] | None) -> tuple[str, str]:
        """The plan, and the identifier or client address, for the rate limit."""
        if self.account is not None:
            return self.account.plan, self.account.id
        if self.user is not None:
            return self.user.account.plan, self.user.id
        return ANONYMOUS, one_client(client[0] if client else "unknown")


NOBODY = Caller()


def credentials_of(scope: Scope) -> tuple[str | None, str | None]:
    """The API key of a request, and below /dashboard/ the token of a session. None for two keys."""
    headers = Headers(scope=scope)
    given = headers.getlist("authorization")
    scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
    key = token.strip() if scheme.lower() == SCHEME else None
    is_page = scope["path"].startswith(DASHBOARD)
    return key, session_token("; ".join(headers.getlist("cookie"))) if is_page else None


def identify(given: str | None, token: str | None, now: int) -> Caller:
    """The caller with an API key, or with the token of a session. Reads the database."""
    session = UserSession.resume(token) if token else None
    key, account = (ApiKey.unrevoked(given) if given else None) or (None, None)
    if account is not None and account.suspended_at is not None:
        return Caller(session=session, is_suspended=True)
    caller = Caller(account, key, session, is_use_due=key is not None and key.is_use_due(now))
    if (account_id := caller.account_id) and (fields := request_fields.get()) is not None:
        fields["account_id"] = account_id
    return caller


def session_of(environ: Mapping[str, Any]) -> UserSession | None:
    """The session of a request that Flask serves. The edge has looked it up before the body came."""
    scope = environ["asgi.scope"]
    caller: Caller = scope[CALLER]
    if caller.session is None or time.monotonic() - caller.at < FRESH_SECONDS:
        return caller.session
    return UserSession.resume(credentials_of(scope)[1] or "")


class Admission:
    """Admits the requests of this process."""

    def __init__(self, limiter: RateLimiter) -> None:
        self.limiter = limiter
        # These threads ask the database and Redis.
        self._reads_at_once = answers_at_once()
        self._threads = ThreadPoolExecutor(ADMITTING_THREADS, "admit")

    async def admit(self, scope: Scope, now: int, *, is_metered: bool) -> Window:
        """Put the Caller into the scope. Returns what the caller has left. A metered request counts.

        ``now`` is when the request came. Takes a thread only if something has to be waited for.
        """
        limiter, (key, session) = self.limiter, credentials_of(scope)

        def identified() -> tuple[Caller, Window]:
            caller = identify(key, session, now)
            counted = caller.counted(scope.get("client"))
            return caller, (limiter.count if is_metered else limiter.look_here)(*counted, now)

        waits = (is_metered and not limiter.answers_at_once) or session is not None
        # A thread costs several times as much as reading two rows of a local file here.
        if not waits and (key is None or self._reads_at_once):
            caller, window = identified()
        else:
            run = asyncio.get_running_loop().run_in_executor
            caller, window = await run(self._threads, copy_context().run, identified)
        scope[CALLER] = caller
        if caller.key is not None and caller.is_use_due:
            note_use(caller.key)
        return window


def note_use(key: ApiKey) -> None:
    """Record the time of a key's last use. The request does not wait for it."""
    if key.id not in _noting:
        task = _noting[key.id] = asyncio.create_task(_note_use(key))
        task.add_done_callback(lambda _: _noting.pop(key.id))


async def _note_use(key: ApiKey) -> None:
    try:
        await commit(key.note_use)
    except (DatabaseError, OSError) as error:
        # The next request records it.
        logger.warning("the last use of key %s was not recorded: %s", key.id, error)

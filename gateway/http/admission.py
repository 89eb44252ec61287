"""Admits requests: identifies the caller by API key or session, and counts the request.

The caller is identified once, because the rate limit needs the account too. The API and the pages read the
result. The limit holds in a fixed window of 60 s for each account, or client address (docs/rate-limits.md).
All keys and users of an account count together. Users read pages in a separate window.
One process counts in its memory, several count together in Redis. While Redis does not answer, each counts
for itself (docs/decisions/0028-limits-without-redis.md).
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from peewee import DatabaseError
from redis import RedisError
from starlette.datastructures import Headers
from starlette.types import Scope

from dashboard.cookies import session_token
from gateway.http.shared_windows import WINDOW_SECONDS, SharedWindows
from gateway.ops.metrics import RATE_LIMITED
from gateway.settings import ANONYMOUS
from models import clock
from models.accounts.account import Account, ApiKey
from models.accounts.client_address import one_client
from models.accounts.user import User
from models.accounts.user_session import UserSession
from models.database import answers_at_once, commit
from models.errors import RateLimitedError
from services.telemetry import request_fields

logger = logging.getLogger(__name__)

# The key of the Caller in a request's scope.
CALLER = "gateway.caller"
SCHEME = "bearer"
DASHBOARD = "/dashboard/"
ADMITTING_THREADS = 20
# After this time a request's session is looked up again: its body may take minutes, and the session may end.
FRESH_SECONDS = 1
MEMORY = "memory"
# How many times the plan's requests the users of an account may read pages. A page that shows what happens
# polls every three seconds.
READS = 10
READING = frozenset({"GET", "HEAD", "OPTIONS"})
# A user at a borrowed machine can end the session at any time.
SIGN_OUT = f"{DASHBOARD}sign-out"
# The refusal of a form past the limit, in its scope. Its page shows the refusal, with what was typed.
REFUSAL = "gateway.refusal"

_noting: dict[str, asyncio.Task[None]] = {}


@dataclass(frozen=True)
class Caller:
    """Who sent a request: the account of its valid key, or a user who is signed in to the dashboard."""

    account: Account | None = None
    key: ApiKey | None = None
    session: UserSession | None = None
    is_suspended: bool = False
    # When the key of the request expired.
    expired_at: int | None = None
    # Whether the time of this use of the key must be stored.
    is_use_due: bool = False
    at: float = field(default_factory=time.monotonic, compare=False)

    @property
    def user(self) -> User | None:
        """The user of the session."""
        return None if self.session is None else self.session.user

    @cached_property
    def account_id(self) -> str | None:
        """The account of the key, or else that of the user."""
        if self.account is not None:
            return self.account.id
        return None if self.user is None else str(self.user.account_id)

    def counted(self, client: tuple[str, int] | None) -> tuple[str, str]:
        """The plan, and the account or client address, for the rate limit."""
        # On pages the user counts, with any key in the request.
        account = self.user.account if self.user else self.account
        if account is not None:
            return account.plan, account.id
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
    if key is not None and key.has_expired(now):
        return Caller(session=session, expired_at=key.expires_at)
    caller = Caller(account, key, session, is_use_due=key is not None and key.is_use_due(now))
    if (account_id := caller.account_id) and (fields := request_fields.get()) is not None:
        fields["account_id"] = account_id
        named = {"key_id": caller.key, "user_id": caller.user}
        fields |= {name: row.id for name, row in named.items() if row is not None}
    return caller


def session_of(environ: Mapping[str, Any]) -> UserSession | None:
    """The session of a request that Flask serves. The edge has looked it up before the body came."""
    scope = environ["asgi.scope"]
    caller: Caller = scope[CALLER]
    if caller.session is None or time.monotonic() - caller.at < FRESH_SECONDS:
        return caller.session
    return UserSession.resume(credentials_of(scope)[1] or "")


def refusal_of(environ: Mapping[str, Any]) -> RateLimitedError | None:
    """Why a form that Flask serves is refused, if its account has made all its requests."""
    found: RateLimitedError | None = environ["asgi.scope"].get(REFUSAL)
    return found


def _counted(scope: Scope, caller: Caller) -> tuple[str, str, int]:
    """The window of a request: its plan, its name, and how many times the plan's requests it allows."""
    is_read = scope["method"] in READING or scope["path"] == SIGN_OUT
    if caller.user is not None and is_read:
        return _reads(scope, caller)
    return *caller.counted(scope.get("client")), 1


def _reads(scope: Scope, caller: Caller) -> tuple[str, str, int]:
    plan, account_id = caller.counted(scope.get("client"))
    return plan, f"{account_id}:pages", READS


@dataclass(frozen=True)
class Window:
    """The state of a caller's limit. ``reset`` is Unix time in whole seconds."""

    limit: int
    remaining: int
    reset: int
    exceeded: bool

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The headers that every response carries."""
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
        ]

    @property
    def retry_after(self) -> int:
        """Whole seconds until a request is accepted again."""
        return max(1, self.reset - clock.now() // 1000)

    def refuse(self) -> RateLimitedError:
        """The error for a request past the limit, which is counted for the operator, too."""
        RATE_LIMITED.inc()
        seconds = self.retry_after
        text = f"The limit of {self.limit} requests a minute is used up. Try again in {seconds} seconds."
        return RateLimitedError(text, retry_after=seconds)


class RateLimiter:
    """Counts requests against the limits of ``plans`` (requests a minute by plan name).

    ``url`` says where: ``memory`` or ``redis://...``. A ``caller`` is an identifier or a client address. It
    may make ``times`` as many requests as the plan says.
    """

    def __init__(self, plans: dict[str, int], url: str = MEMORY) -> None:
        self._plans = plans
        self._own = OwnWindows()
        self._shared = None if url == MEMORY else SharedWindows(url)
        # Whether counting needs no round trip.
        self.answers_at_once = self._shared is None

    def count(self, plan: str, caller: str, times: int = 1) -> Window:
        """Count one request. It may wait for Redis."""
        return self._window(plan, times, *self._add(caller, 1))

    def count_here(self, plan: str, caller: str) -> Window:
        """Like count(), but in this process only: for the event loop, which must not wait for Redis."""
        return self._window(plan, 1, *self._own.add(caller, 1))

    def look_here(self, plan: str, caller: str, times: int = 1) -> Window:
        """The window of a caller in this process, for a request that is not limited."""
        return replace(self._window(plan, times, *self._own.add(caller, 0)), exceeded=False)

    def look(self, account: Account) -> tuple[int, int, int]:
        """The account's limit, what remains of it and its reset, as in Window. Counts nothing."""
        window = self._window(account.plan, 1, *self._add(account.id, 0))
        return window.limit, window.remaining, window.reset

    def _window(self, plan: str, times: int, count: int, ends: float) -> Window:
        limit = self._plans[plan] * times
        return Window(limit, max(0, limit - count), math.ceil(ends), count > limit)

    def _add(self, caller: str, requests: int) -> tuple[int, float]:
        """Add one request or none. Returns the caller's count, and when the window ends (Unix time)."""
        if self._shared is not None and self._shared.is_there:
            try:
                return self._shared.add(caller, requests)
            except RedisError as error:
                logger.warning("limits are counted by each process alone: %s", error)
                self._shared.await_its_return()
        return self._own.add(caller, requests)


class OwnWindows:
    """The windows in the memory of this process. A window begins with its first request."""

    def __init__(self) -> None:
        # Of each caller when the window ends (Unix time), and how many requests it has.
        self._open: dict[str, tuple[float, int]] = {}
        self._tidy_at = 0.0
        self._lock = threading.Lock()

    def add(self, caller: str, requests: int) -> tuple[int, float]:
        """See RateLimiter."""
        with self._lock:
            # Read under the lock: otherwise another request could open a window that begins later.
            at = clock.now() / 1000

            def is_open(ends: float) -> bool:
                # A later end than any window can have: the clock was set back.
                return at < ends <= at + WINDOW_SECONDS

            if not is_open(self._tidy_at):
                # Delete the windows that have ended.
                self._open = {caller: w for caller, w in self._open.items() if is_open(w[0])}
                self._tidy_at = at + WINDOW_SECONDS
            ends, count = self._open.get(caller, (0.0, 0))
            if not is_open(ends):
                ends, count = at + WINDOW_SECONDS, 0
            if requests:
                self._open[caller] = ends, count + requests
            return count + requests, ends


class Admission:
    """Admits the requests of this process."""

    def __init__(self, limiter: RateLimiter) -> None:
        self.limiter = limiter
        self._reads_at_once = answers_at_once()
        # These threads ask the database and Redis.
        self._threads = ThreadPoolExecutor(ADMITTING_THREADS, "admit")

    async def admit(self, scope: Scope, now: int, *, is_metered: bool) -> Window:
        """Put the Caller into the scope. Returns what the caller has left. A metered request counts.

        ``now`` is when the request came. Takes a thread only if something has to be waited for.
        """
        limiter, (key, session) = self.limiter, credentials_of(scope)

        def identified() -> tuple[Caller, Window]:
            caller = identify(key, session, now)
            counted = _counted(scope, caller)
            return caller, (limiter.count if is_metered else limiter.look_here)(*counted)

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

    async def may_show(self, scope: Scope) -> bool:
        """Whether a user's form past the limit is answered by its page. That counts as reading the page."""
        caller: Caller = scope[CALLER]
        if scope["method"] != "POST" or caller.user is None:
            return False
        counted = partial(self.limiter.count, *_reads(scope, caller))
        if self.limiter.answers_at_once:
            return not counted().exceeded
        window = await asyncio.get_running_loop().run_in_executor(self._threads, counted)
        return not window.exceeded


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

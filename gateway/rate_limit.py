"""Rate limits: a fixed window of 60 s for each account, or client address (decision 13).

One process counts in its memory. Several count together in Redis, and while that does not answer each
counts for itself (docs/decisions/0028-limits-without-redis.md).
"""

import logging
import math
import time
from dataclasses import dataclass
from typing import Any

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.errors import StorageError
from limits.storage import RedisStorage
from redis import RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry
from starlette.concurrency import run_in_threadpool

from gateway.settings import ANONYMOUS
from gateway.windows import Windows
from models.account import Account
from models.user import User

logger = logging.getLogger(__name__)

MEMORY = "memory"
WINDOW_SECONDS = 60
# A request waits for its count, so Redis has this long, and not longer.
ANSWER_TIMEOUT_SECONDS = 1
# How long Redis is left alone after it gave no answer.
PAUSE_SECONDS = 1


@dataclass(frozen=True)
class Window:
    """Where a caller stands. ``reset`` is Unix time in whole seconds."""

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
        """Whole seconds until a request passes again."""
        return max(1, self.reset - math.floor(time.time()))


class RateLimiter:
    """Counts requests against the limits of ``plans`` (requests a minute by plan name).

    ``url`` says where: ``memory`` or ``redis://...``.
    """

    def __init__(self, plans: dict[str, int], url: str = MEMORY) -> None:
        self._items = {plan: RateLimitItemPerMinute(limit) for plan, limit in plans.items()}
        self._own = Windows(WINDOW_SECONDS)
        self._shared = None if url == MEMORY else _in_redis(url)
        self._alone_until = 0.0

    async def count_soon(
        self,
        account: Account | None,
        address: str,
        *,
        metered: bool = True,
        user: User | None = None,
    ) -> Window:
        """As count(), and nothing else waits while Redis is asked."""
        if self._shared is None:
            return self.count(account, address, metered=metered, user=user)
        return await run_in_threadpool(self.count, account, address, metered=metered, user=user)

    def count(
        self,
        account: Account | None,
        address: str,
        *,
        metered: bool = True,
        user: User | None = None,
    ) -> Window:
        """Count one request, unless it is not ``metered``, and say where the caller stands.

        A ``user`` of the dashboard has a window of their own, as wide as the account's.
        """
        plan, caller = (account.plan, account.id) if account else (ANONYMOUS, address)
        if account is None and user is not None:
            plan, caller = user.account.plan, user.id
        item = self._items[plan]
        if self._shared is not None and time.monotonic() >= self._alone_until:
            try:
                return _count_together(self._shared, item, caller, metered=metered)
            except (StorageError, RedisError) as error:
                self._alone_until = time.monotonic() + PAUSE_SECONDS
                logger.warning("limits are counted by each process alone: %s", error)
        count, ends = self._own.count(caller) if metered else self._own.look(caller)
        exceeded = metered and count > item.amount
        return Window(item.amount, max(0, item.amount - count), math.ceil(ends), exceeded)

    def look(self, account: Account) -> tuple[int, int, int]:
        """The account's limit, what remains of it and its reset, as in Window. Counts nothing."""
        window = self.count(account, "", metered=False)
        return window.limit, window.remaining, window.reset


def _in_redis(url: str) -> RedisStorage:
    options: dict[str, Any] = {
        "wrap_exceptions": True,
        "socket_connect_timeout": ANSWER_TIMEOUT_SECONDS,
        "socket_timeout": ANSWER_TIMEOUT_SECONDS,
        "retry": Retry(NoBackoff(), 1),
    }
    return RedisStorage(url, **options)


def _count_together(
    storage: RedisStorage, item: RateLimitItem, caller: str, *, metered: bool
) -> Window:
    key = item.key_for(caller)
    # The count that this very request made: others may have raised it since.
    count = storage.incr(key, WINDOW_SECONDS) if metered else storage.get(key)
    left = int(storage.storage.pttl(storage.prefixed_key(key)))
    # A caller who was not counted yet has no window; it would end a minute from now.
    ends = time.time() + (left / 1000 if left > 0 else WINDOW_SECONDS)
    exceeded = metered and count > item.amount
    return Window(item.amount, max(0, item.amount - count), math.ceil(ends), exceeded)

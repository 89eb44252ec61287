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

from gateway.http.windows import Windows
from gateway.settings import ANONYMOUS
from models.account import Account
from models.user import User

logger = logging.getLogger(__name__)

MEMORY = "memory"
WINDOW_SECONDS = 60
# A request waits for its count, so Redis has this long, and not longer.
ANSWER_TIMEOUT_SECONDS = 1
# How long Redis is left alone after it gave no answer.
PAUSE_SECONDS = 1
# A caller who is not counted is told where they stood at most so long ago; of so many it is kept in mind.
GLANCE_SECONDS, MAX_GLANCES = 1, 1_000
# Counts, and says when the window ends, in one exchange. Who is only looked at gets no window.
COUNT = """
local count = tonumber(redis.call('GET', KEYS[1]) or 0)
if ARGV[1] == '1' then
    count = redis.call('INCR', KEYS[1])
    if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
end
return {count, redis.call('PTTL', KEYS[1])}
"""


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
        self._shared = None if url == MEMORY else _Shared(url)
        self._alone_until = 0.0
        self._glances: dict[str, tuple[float, Window]] = {}

    @property
    def answers_at_once(self) -> bool:
        """Whether nobody else has to be asked to count."""
        return self._shared is None

    def glance(self, address: str) -> Window | None:
        """Where a caller without an account stood a moment ago; None when nobody looked. Waits for nobody."""
        at, window = self._glances.get(address, (-math.inf, None))
        return window if time.monotonic() - at < GLANCE_SECONDS else None

    def count(
        self,
        account: Account | None,
        address: str,
        *,
        metered: bool = True,
        user: User | None = None,
    ) -> Window:
        """Count one request, unless it is not ``metered``, and say where the caller stands.

        It may wait for Redis. A ``user`` of the dashboard has a window of their own, as wide as the
        account's.
        """
        plan, caller = (account.plan, account.id) if account else (ANONYMOUS, address)
        if account is None and user is not None:
            plan, caller = user.account.plan, user.id
        item = self._items[plan]
        count, ends = self._count(item, caller, metered=metered)
        exceeded = metered and count > item.amount
        window = Window(item.amount, max(0, item.amount - count), math.ceil(ends), exceeded)
        if not (metered or account or user):
            self._keep_in_mind(address, window)
        return window

    def _count(self, item: RateLimitItem, caller: str, *, metered: bool) -> tuple[int, float]:
        """The caller's count, and when the window ends (Unix time)."""
        if self._shared is not None and time.monotonic() >= self._alone_until:
            try:
                return self._shared.count(item, caller, metered=metered)
            except (StorageError, RedisError) as error:
                self._alone_until = time.monotonic() + PAUSE_SECONDS
                logger.warning("limits are counted by each process alone: %s", error)
        return self._own.count(caller) if metered else self._own.look(caller)

    def _keep_in_mind(self, address: str, window: Window) -> None:
        if len(self._glances) >= MAX_GLANCES:
            self._glances = {}
        self._glances[address] = (time.monotonic(), window)

    def look(self, account: Account) -> tuple[int, int, int]:
        """The account's limit, what remains of it and its reset, as in Window. Counts nothing."""
        window = self.count(account, "", metered=False)
        return window.limit, window.remaining, window.reset


class _Shared:
    """The counts that several processes keep together, in Redis."""

    def __init__(self, url: str) -> None:
        options: dict[str, Any] = {
            "wrap_exceptions": True,
            "socket_connect_timeout": ANSWER_TIMEOUT_SECONDS,
            "socket_timeout": ANSWER_TIMEOUT_SECONDS,
            "retry": Retry(NoBackoff(), 1),
        }
        self._storage = RedisStorage(url, **options)
        self._script = self._storage.storage.register_script(COUNT)

    def count(self, item: RateLimitItem, caller: str, *, metered: bool) -> tuple[int, float]:
        """The count that this very request made, and when the window ends (Unix time)."""
        key = self._storage.prefixed_key(item.key_for(caller))
        count, left = self._script([key], [int(metered), WINDOW_SECONDS])
        # A caller who was not counted yet has no window; it would end a minute from now.
        return count, time.time() + (left / 1000 if left > 0 else WINDOW_SECONDS)

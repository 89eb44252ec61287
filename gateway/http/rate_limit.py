"""Rate limits: a fixed window of 60 s for each account, or client address (docs/rate-limits.md).

One process counts in its memory. Several count together in Redis. While Redis does not answer, each counts
for itself, and no request waits for Redis (docs/decisions/0028-limits-without-redis.md).
"""

import contextlib
import logging
import math
import threading
import time
from dataclasses import dataclass, replace

from redis import Redis, RedisError

from models import clock
from models.accounts.account import Account
from models.database.redis_pool import open_pool

logger = logging.getLogger(__name__)

MEMORY = "memory"
KEY_PREFIX = "gateway:requests:"
WINDOW_SECONDS = 60
# A request counts at the time it came, so others that came later may count first. Seconds.
LATE_SECONDS = 5
# Seconds. A request waits for its count, so Redis must respond within this time.
ANSWER_TIMEOUT_SECONDS = 1
# Seconds between two attempts to reach a Redis that did not respond.
PAUSE_SECONDS = 1
# Counts and returns the window's end, in one round trip. Reading opens no window.
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


class RateLimiter:
    """Counts requests against the limits of ``plans`` (requests a minute by plan name).

    ``url`` says where: ``memory`` or ``redis://...``. A ``caller`` is an identifier or a client address.
    ``now`` is when the request came, see models.clock.
    """

    def __init__(self, plans: dict[str, int], url: str = MEMORY) -> None:
        self._plans = plans
        self._own = _Own()
        self._shared = None if url == MEMORY else _Shared(url)
        # Whether counting needs no round trip.
        self.answers_at_once = self._shared is None

    def count(self, plan: str, caller: str, now: int) -> Window:
        """Count one request. It may wait for Redis."""
        return self._window(plan, *self._add(caller, 1, now))

    def count_here(self, plan: str, caller: str, now: int) -> Window:
        """Like count(), but in this process only: for the event loop, which must not wait for Redis."""
        return self._window(plan, *self._own.add(caller, 1, now))

    def look_here(self, plan: str, caller: str, now: int) -> Window:
        """The window of a caller in this process, for a request that is not limited."""
        return replace(self._window(plan, *self._own.add(caller, 0, now)), exceeded=False)

    def look(self, account: Account) -> tuple[int, int, int]:
        """The account's limit, what remains of it and its reset, as in Window. Counts nothing."""
        window = self._window(account.plan, *self._add(account.id, 0, clock.now()))
        return window.limit, window.remaining, window.reset

    def _window(self, plan: str, count: int, ends: float) -> Window:
        limit = self._plans[plan]
        return Window(limit, max(0, limit - count), math.ceil(ends), count > limit)

    def _add(self, caller: str, requests: int, now: int) -> tuple[int, float]:
        """Add one request or none. Returns the caller's count, and when the window ends (Unix time)."""
        if self._shared is not None and self._shared.is_there:
            try:
                return self._shared.add(caller, requests)
            except RedisError as error:
                logger.warning("limits are counted by each process alone: %s", error)
                self._shared.await_its_return()
        return self._own.add(caller, requests, now)


class _Own:
    """The windows in the memory of this process. A window begins with its first request."""

    def __init__(self) -> None:
        # Of each caller when the window ends (Unix time), and how many requests it has.
        self._open: dict[str, tuple[float, int]] = {}
        self._tidy_at = 0.0
        self._lock = threading.Lock()

    def add(self, caller: str, requests: int, now: int) -> tuple[int, float]:
        """See RateLimiter."""
        at = now / 1000

        def is_open(ends: float) -> bool:
            # A later end than any window can have: the clock was set back.
            return at < ends <= at + WINDOW_SECONDS + LATE_SECONDS

        with self._lock:
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


class _Shared:
    """The counts that several processes share in Redis."""

    def __init__(self, url: str) -> None:
        # A silent Redis is not asked twice.
        self._redis = Redis(connection_pool=open_pool(url, ANSWER_TIMEOUT_SECONDS))
        self.is_there = True
        self._lock = threading.Lock()
        self._script = self._redis.register_script(COUNT)

    def await_its_return(self) -> None:
        """Stop using Redis until a thread reaches it again."""
        with self._lock:
            if self.is_there:
                self.is_there = False
                try:
                    threading.Thread(target=self._look, name="redis", daemon=True).start()
                except RuntimeError:
                    # No thread can be started now. The next request asks Redis, and tries again.
                    self.is_there = True

    def _look(self) -> None:
        while not self.is_there:
            time.sleep(PAUSE_SECONDS)
            with contextlib.suppress(RedisError):
                self.is_there = bool(self._redis.ping())
        logger.warning("limits are counted together again")

    def add(self, caller: str, requests: int) -> tuple[int, float]:
        """See RateLimiter. A caller without a window gets one that would end a minute from now."""
        count, left = self._script([KEY_PREFIX + caller], [requests, WINDOW_SECONDS])
        return count, clock.now() / 1000 + (left / 1000 if left > 0 else WINDOW_SECONDS)

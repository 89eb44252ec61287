"""Rate limits: a fixed window of 60 s for each account, or client address (decision 13).

One process counts in its memory. Several count together in Redis. While Redis does not answer, each counts
for itself, and nobody waits for Redis (docs/decisions/0028-limits-without-redis.md).
"""

import contextlib
import logging
import math
import threading
import time
from dataclasses import dataclass

from redis import ConnectionError as RedisConnectionError
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from gateway.http.windows import Windows
from gateway.settings import ANONYMOUS
from models.account import Account
from models.user import User

logger = logging.getLogger(__name__)

MEMORY = "memory"
KEY_PREFIX = "gateway:requests:"
WINDOW_SECONDS = 60
# A request waits for its count, so Redis has this long, and not longer.
ANSWER_TIMEOUT_SECONDS = 1
# Between two looks whether a Redis answers again that gave no answer.
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
        self._plans = plans
        self._own = Windows(WINDOW_SECONDS)
        self._shared = None if url == MEMORY else _Shared(url)
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
        window = self._window(plan, *self._count(caller, metered=metered), metered=metered)
        if not (metered or account or user):
            self._keep_in_mind(address, window)
        return window

    def count_here(self, address: str) -> Window:
        """Count what is no HTTP, in this process alone: for the event loop, which must not wait for Redis."""
        return self._window(ANONYMOUS, *self._own.count(address), metered=True)

    def _window(self, plan: str, count: int, ends: float, *, metered: bool) -> Window:
        limit = self._plans[plan]
        exceeded = metered and count > limit
        return Window(limit, max(0, limit - count), math.ceil(ends), exceeded)

    def _count(self, caller: str, *, metered: bool) -> tuple[int, float]:
        """The caller's count, and when the window ends (Unix time)."""
        if self._shared is not None and self._shared.is_there:
            try:
                return self._shared.count(caller, metered=metered)
            except RedisError as error:
                logger.warning("limits are counted by each process alone: %s", error)
                self._shared.await_its_return()
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
        self._redis = Redis.from_url(
            url,
            socket_connect_timeout=ANSWER_TIMEOUT_SECONDS,
            socket_timeout=ANSWER_TIMEOUT_SECONDS,
            # A kept connection may be closed. A Redis that is silent is not asked twice.
            retry=Retry(NoBackoff(), 1, (RedisConnectionError,)),
        )
        self.is_there = True
        self._lock = threading.Lock()
        self._script = self._redis.register_script(COUNT)

    def await_its_return(self) -> None:
        """Ask Redis no more until it answers a thread that looks for it."""
        with self._lock:
            if self.is_there:
                self.is_there = False
                threading.Thread(target=self._look, name="redis", daemon=True).start()

    def _look(self) -> None:
        while not self.is_there:
            time.sleep(PAUSE_SECONDS)
            with contextlib.suppress(RedisError):
                self.is_there = bool(self._redis.ping())
        logger.warning("limits are counted together again")

    def count(self, caller: str, *, metered: bool) -> tuple[int, float]:
        """The count that this very request made, and when the window ends (Unix time)."""
        count, left = self._script([KEY_PREFIX + caller], [int(metered), WINDOW_SECONDS])
        # A caller who was not counted yet has no window; it would end a minute from now.
        return count, time.time() + (left / 1000 if left > 0 else WINDOW_SECONDS)

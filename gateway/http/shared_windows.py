"""The windows of the rate limit that several processes share in Redis.

While Redis does not answer, no request waits for it (docs/decisions/0028-limits-without-redis.md).
"""

import contextlib
import logging
import threading
import time

from redis import Redis, RedisError

from models import clock
from models.database.redis_pool import open_pool

logger = logging.getLogger(__name__)

KEY_PREFIX = "gateway:requests:"
WINDOW_SECONDS = 60
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


class SharedWindows:
    """The windows in the Redis at ``url``."""

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
        """Like OwnWindows.add(). A caller without a window gets one that would end a minute from now."""
        count, left = self._script([KEY_PREFIX + caller], [requests, WINDOW_SECONDS])
        return count, clock.now() / 1000 + (left / 1000 if left > 0 else WINDOW_SECONDS)

"""Rate limits: a fixed window of 60 s for each account, or client address (decision 13)."""

import math
import time
from dataclasses import dataclass

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from gateway.settings import ANONYMOUS
from models.account import Account
from models.user import User


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
    """Counts requests against the limits of ``plans`` (requests a minute by plan name)."""

    def __init__(self, plans: dict[str, int]) -> None:
        self._items = {plan: RateLimitItemPerMinute(limit) for plan, limit in plans.items()}
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

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
        exceeded = metered and not self._limiter.hit(item, caller)
        stats = self._limiter.get_window_stats(item, caller)
        now = time.time()
        # A caller who was not counted yet has no window; it would end a minute from now.
        reset = stats.reset_time if stats.reset_time > now else now + item.get_expiry()
        return Window(item.amount, max(0, stats.remaining), math.ceil(reset), exceeded)

    def look(self, account: Account) -> tuple[int, int, int]:
        """The account's limit, what remains of it and its reset, as in Window. Counts nothing."""
        window = self.count(account, "", metered=False)
        return window.limit, window.remaining, window.reset

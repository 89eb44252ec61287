"""An account's use of the rate limit, as API clients see it.

The edge counts requests. It is above this package, so the application injects a function to read the count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from flask import current_app

from models import clock
from models.accounts.account import Account

EXTENSION = "limit_use"
# Allowed requests per minute, remaining requests, and the end of the minute (Unix time in seconds).
Look = Callable[[Account], tuple[int, int, int]]


@dataclass(frozen=True)
class LimitUse:
    """``seconds`` are left of the current minute."""

    limit: int
    used: int
    seconds: int


def limit_use(account: Account) -> LimitUse:
    """The account's use. This query is not counted."""
    look = cast("Look", current_app.extensions[EXTENSION])
    limit, remaining, reset = look(account)
    return LimitUse(limit, limit - remaining, max(0, reset - clock.now() // 1000))

"""An account's use of the rate limit, as API clients see it.

The edge, which is above this package, counts requests. The application injects a function to read the count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from flask import current_app

from models import clock
from models.account import Account

EXTENSION = "limit_use"
# Requests a minute, how many of them are left, and when the minute ends (Unix time in seconds).
Look = Callable[[Account], tuple[int, int, int]]


@dataclass(frozen=True)
class LimitUse:
    """``seconds`` are left of the minute under way."""

    limit: int
    used: int
    seconds: int


def limit_use(account: Account) -> LimitUse:
    """The account's use. This query is not counted."""
    look = cast("Look", current_app.extensions[EXTENSION])
    limit, remaining, reset = look(account)
    return LimitUse(limit, limit - remaining, max(0, reset - clock.now() // 1000))

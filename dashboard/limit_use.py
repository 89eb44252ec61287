"""How much of its requests a minute an account has used, as its programs see it.

The rate limit is counted at the edge, above this package, so the application hands in a way to look.
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
    """Where the account stands, without counting this look."""
    look = cast("Look", current_app.extensions[EXTENSION])
    limit, remaining, reset = look(account)
    return LimitUse(limit, limit - remaining, max(0, reset - clock.now() // 1000))

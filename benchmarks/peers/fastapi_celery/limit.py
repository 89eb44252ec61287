"""The rate limit: a fixed window of a minute for each account, in memory."""

import threading
import time

LIMIT, WINDOW_SECONDS = 1_000_000, 60

_lock = threading.Lock()
_windows: dict[str, tuple[int, float]] = {}


def count(account_id: str) -> dict[str, str] | None:
    """Count a request. Returns the rate limit headers of the account, or None past the limit."""
    now = time.time()
    with _lock:
        used, reset = _windows.get(account_id, (0, now + WINDOW_SECONDS))
        if reset <= now:
            used, reset = 0, now + WINDOW_SECONDS
        _windows[account_id] = (used + 1, reset)
    if used >= LIMIT:
        return None
    return {
        "X-RateLimit-Limit": str(LIMIT),
        "X-RateLimit-Remaining": str(LIMIT - used - 1),
        "X-RateLimit-Reset": str(round(reset)),
    }

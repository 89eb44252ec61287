"""Time as the database keeps it: whole milliseconds since the Unix epoch, UTC."""

import time


def now() -> int:
    """The current time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000

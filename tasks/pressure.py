"""Whether the machine is behind with its deliveries and callbacks. Then it accepts no new sends."""

import time

from gateway.settings import get_settings
from models.backlog import is_full
from models.database import read

# Between two looks, in seconds.
LOOK_SECONDS = 1.0


class Pressure:
    """Looks at the work that is due, at most once in LOOK_SECONDS."""

    def __init__(self) -> None:
        self._is_full = False
        self._look_at = 0.0

    async def is_too_high(self) -> bool:
        """Whether more is due than the setting DUE_LIMIT allows; never if it is 0."""
        limit = get_settings().due_limit
        if limit and time.monotonic() >= self._look_at:
            # First: other requests do not look meanwhile.
            self._look_at = time.monotonic() + LOOK_SECONDS
            self._is_full = await read(lambda: is_full(limit))
        return bool(limit) and self._is_full


pressure = Pressure()

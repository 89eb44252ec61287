"""Whether the machine is behind with its deliveries and callbacks. Then it accepts no new sends."""

import time

from models.backlog import is_full
from models.database import read

# Between two looks, in seconds.
LOOK_SECONDS = 1.0


class Pressure:
    """Looks at the work that is due, at most once in LOOK_SECONDS."""

    _is_full = False
    _look_at = 0.0

    async def is_above(self, limit: int) -> bool:
        """Whether more deliveries and callbacks than ``limit`` were due at the last look."""
        if time.monotonic() >= self._look_at:
            # Set before the look, so that requests which arrive meanwhile do not look too.
            self._look_at = time.monotonic() + LOOK_SECONDS
            self._is_full = await read(lambda: is_full(limit))
        return self._is_full


pressure = Pressure()

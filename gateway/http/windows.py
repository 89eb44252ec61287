"""Fixed windows of requests, counted in the memory of this process. Those that are over are forgotten."""

import threading
import time
from dataclasses import dataclass


@dataclass
class _Open:
    """A window that ends at ``ends`` (Unix time)."""

    ends: float
    count: int = 0


class Windows:
    """The windows of ``seconds`` of all callers. A window begins with its first request."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._open: dict[str, _Open] = {}
        self._tidy_at = 0.0
        self._lock = threading.Lock()

    def count(self, caller: str) -> tuple[int, float]:
        """Count one request. Returns how many that makes, and when the window ends."""
        now = time.time()
        with self._lock:
            self._tidy(now)
            window = self._open.get(caller)
            if window is None or window.ends <= now:
                window = self._open[caller] = _Open(now + self._seconds)
            window.count += 1
            return window.count, window.ends

    def look(self, caller: str) -> tuple[int, float]:
        """As count(), without counting. A caller who has no window gets one that would begin now."""
        now = time.time()
        with self._lock:
            window = self._open.get(caller)
            if window is None or window.ends <= now:
                return 0, now + self._seconds
            return window.count, window.ends

    def __len__(self) -> int:
        """How many windows are held in memory."""
        return len(self._open)

    def _tidy(self, now: float) -> None:
        """Forget the windows that are over, at most once in the length of one."""
        if now >= self._tidy_at:
            self._open = {caller: w for caller, w in self._open.items() if w.ends > now}
            self._tidy_at = now + self._seconds

"""When faults were felt, and how much of a wait lies outside of them."""

from dataclasses import dataclass, field

# A fault may be felt for so long after its end: PostgreSQL ends the transaction of a frozen client after 5 s.
RECOVERY_SECONDS = 6
# A wait: when it began and when it was over, in seconds since the epoch.
Wait = tuple[float, float]


@dataclass
class Windows:
    """When each fault began, and when it might no longer be felt. In order of time."""

    all: list[Wait] = field(default_factory=list)

    def add(self, began: float, ended: float) -> None:
        """Note a fault that is over."""
        self.all.append((began, ended + RECOVERY_SECONDS))

    def outside(self, wait: Wait) -> float:
        """How many seconds of a wait lie outside of all faults."""
        at, over = wait
        seconds = 0.0
        for began, ended in self.all:
            seconds += max(0, min(began, over) - at)
            at = max(at, min(ended, over))
        return seconds + over - at

    def touches(self, wait: Wait) -> bool:
        """Whether a fault was felt at any time of it."""
        return any(began <= wait[1] and wait[0] <= ended for began, ended in self.all)

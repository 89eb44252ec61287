"""When faults were felt, and how much of a wait is outside of them."""

from dataclasses import dataclass, field

# The seconds for which a fault may be felt after its end: PostgreSQL ends the transaction of a frozen client
# after 5 s.
RECOVERY_SECONDS = 6
# The start and end of a wait, in seconds since the epoch.
Wait = tuple[float, float]


@dataclass
class Windows:
    """The start of each fault, and the time when it can no longer be felt, in order of time."""

    all: list[Wait] = field(default_factory=list)

    def add(self, began: float, ended: float) -> None:
        """Record a fault that is over."""
        self.all.append((began, ended + RECOVERY_SECONDS))

    def outside(self, wait: Wait) -> float:
        """The seconds of a wait that are outside of all faults."""
        at, over = wait
        seconds = 0.0
        for began, ended in self.all:
            seconds += max(0, min(began, over) - at)
            at = max(at, min(ended, over))
        return seconds + over - at

    def touches(self, wait: Wait) -> bool:
        """Whether a fault was felt during the wait."""
        return any(began <= wait[1] and wait[0] <= ended for began, ended in self.all)

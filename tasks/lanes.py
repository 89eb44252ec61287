"""Lanes of the delivery engine: room for attempts, apart for receivers that answer and for slow ones."""

import asyncio
from dataclasses import dataclass, field

MAX_IN_FLIGHT, MAX_PER_WEBHOOK = 500, 10
# A receiver that times out is probed by few attempts; one success brings it back.
MAX_SLOW_IN_FLIGHT, MAX_PER_SLOW_WEBHOOK = 100, 2
# What comes in quick succession is claimed together; the first of it waits for nothing (ADR 32). Who is
# behind waits less, but long enough not to claim one by one.
PAUSE_SECONDS, BEHIND_PAUSE_SECONDS, SLOW_PAUSE_SECONDS = 0.015, 0.005, 0.2


@dataclass
class Lane:
    """Room for attempts of its own, so that slow receivers never take up that of the others.

    ``pause`` is the least time between two claims, in seconds, while the lane is not behind.
    """

    max_in_flight: int
    max_per_webhook: int
    pause: float
    slow: bool = False
    # Whether its last claim took up all its room, and whether it did so at least for one webhook.
    is_full: bool = False
    is_behind: bool = False
    due: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def room(self) -> int:
        """How many attempts more may be under way."""
        return self.max_in_flight - len(self.in_flight)

    @property
    def rest(self) -> float:
        """How long to claim nothing after a claim, in seconds."""
        return BEHIND_PAUSE_SECONDS if self.is_behind and not self.slow else self.pause


def make_lanes() -> list[Lane]:
    """Those of one engine."""
    return [
        Lane(MAX_IN_FLIGHT, MAX_PER_WEBHOOK, PAUSE_SECONDS),
        Lane(MAX_SLOW_IN_FLIGHT, MAX_PER_SLOW_WEBHOOK, SLOW_PAUSE_SECONDS, slow=True),
    ]

"""Lanes of the delivery engine: room for attempts, apart for receivers that answer and for slow ones."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from models.claim import ClaimedDelivery, Terms

MAX_IN_FLIGHT, MAX_PER_WEBHOOK = 500, 10
# A receiver that times out is probed by few attempts; one success brings it back.
MAX_SLOW_IN_FLIGHT, MAX_PER_SLOW_WEBHOOK = 100, 2
# No account takes up a lane: the others have at least four fifths of it.
ACCOUNT_PART = 5
# What comes in quick succession is claimed together; the first of it waits for nothing (ADR 32). Who is
# behind waits less, but long enough not to claim one by one.
PAUSE_SECONDS, BEHIND_PAUSE_SECONDS, SLOW_PAUSE_SECONDS = 0.02, 0.005, 0.2


@dataclass
class Lane:
    """Room for attempts of its own, so that slow receivers never take up that of the others.

    ``pause`` is the least time between two claims, in seconds, while the lane is not behind.
    """

    max_in_flight: int
    max_per_webhook: int
    pause: float
    slow: bool = False
    # Whether its last claim took up all its room or an account's, and whether at least a webhook's.
    is_full: bool = False
    is_behind: bool = False
    due: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: set[asyncio.Task[None]] = field(default_factory=set)
    accounts: Counter[str] = field(default_factory=Counter)
    suspects: int = 0

    @property
    def room(self) -> int:
        """How many attempts more may be under way."""
        return self.max_in_flight - len(self.in_flight)

    @property
    def per_account(self) -> int:
        """How many attempts may be under way for one account."""
        return self.max_in_flight // ACCOUNT_PART

    def terms(self, lease_ms: int, last_try: int, *, suspects: bool) -> Terms:
        """How to claim for it now."""
        return Terms(
            self.max_per_webhook,
            lease_ms,
            slow=self.slow,
            per_account=self.per_account,
            in_flight=dict(self.accounts),
            last_try=last_try,
            suspects=suspects and not (self.slow or self.suspects),
        )

    def note_claim(self, batch: Sequence[ClaimedDelivery], room: int) -> None:
        """What a claim with so much room gave."""
        self.accounts.update(each.webhook.account_id for each in batch)
        self.suspects += sum(each.is_suspect for each in batch)
        has_full_account = max(self.accounts.values(), default=0) >= self.per_account
        self.is_full = len(batch) == room or has_full_account
        self.is_behind = self.is_full or any(each.fills_webhook for each in batch)

    def start(self, claimed: ClaimedDelivery, task: asyncio.Task[None]) -> None:
        """An attempt is under way until its task is done."""
        account_id = claimed.webhook.account_id

        def end(task: asyncio.Task[None]) -> None:
            self.in_flight.discard(task)
            self.suspects -= claimed.is_suspect
            self.accounts[account_id] -= 1
            if not self.accounts[account_id]:
                del self.accounts[account_id]

        self.in_flight.add(task)
        task.add_done_callback(end)

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

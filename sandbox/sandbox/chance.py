"""Random choices, repeatable when a seed is given."""

from __future__ import annotations

import random


class Chance:
    """Separate random streams for sends and callbacks: only the client decides the order of sends.

    With one stream, the order of callbacks would change the result of the next send.
    """

    def __init__(self) -> None:
        self.seed(None)

    def seed(self, seed: int | None) -> None:
        """Restart both streams: repeatable with a seed, otherwise random."""
        self.sends = Stream(None if seed is None else f"{seed} sends")
        self.callbacks = Stream(None if seed is None else f"{seed} callbacks")


class Stream(random.Random):
    """Nothing drawn here is a secret."""

    def happens(self, share: float) -> bool:
        """True in this share of all cases. Shares of 0 and 1 draw no random number."""
        return share > 0 and (share >= 1 or self.random() < share)

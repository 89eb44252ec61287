"""Random choices, repeatable when a seed is given."""

from __future__ import annotations

import random


class Chance:
    """Separate random streams for sends and callbacks: only the client decides the order of sends.

    With one stream a callback that overtakes another would change what becomes of the next send.
    """

    def __init__(self) -> None:
        self.seed(None)

    def seed(self, seed: int | None) -> None:
        """Start over: with a seed always in the same way, without one each time in another."""
        self.sends = Stream(None if seed is None else f"{seed} sends")
        self.callbacks = Stream(None if seed is None else f"{seed} callbacks")


class Stream(random.Random):
    """Nothing drawn here is a secret."""

    def happens(self, share: float) -> bool:
        """True in this share of all cases. The certain ones draw nothing."""
        return share > 0 and (share >= 1 or self.random() < share)

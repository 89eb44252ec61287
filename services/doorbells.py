"""Doorbells that services ring after a commit. The queue of the worker answers them (tasks.queue).

In a process without that queue a ring does nothing: the worker finds the work a little later.
"""

from collections.abc import Callable


class Doorbell:
    """Signals that there is work of one kind. Never waits, and never fails."""

    def __init__(self) -> None:
        self.answer: Callable[[], None] | None = None

    def ring(self) -> None:
        """Call it after the commit, from any thread."""
        if self.answer is not None:
            self.answer()


# Deliveries may be due, callbacks are stored, redeliveries are stored, an erasure is left to the worker.
deliveries, callbacks, redeliveries, erasures = Doorbell(), Doorbell(), Doorbell(), Doorbell()

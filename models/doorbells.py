"""Doorbells that rows for the worker ring when they are committed. Its queue connects them (tasks.queue).

In a process that does not import it, a ring does nothing: the worker finds the work a little later.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Doorbell:
    """Signals that there is work of one kind.

    ``ring`` is called after the commit (peewee's after_commit), from any thread. It never waits, and
    never fails.
    """

    ring: Callable[[], None] = lambda: None


# Deliveries may be due, callbacks are stored, redeliveries are stored, an erasure is left to the worker.
deliveries, callbacks, redeliveries, erasures = Doorbell(), Doorbell(), Doorbell(), Doorbell()

"""Wakes the worker when a service rings (services.doorbells): one task of the queue for each kind of work."""

from services import doorbells
from tasks.queue import Doorbell

deliveries = Doorbell("deliveries")
# Statuses come in bursts, and one wake-up serves a whole burst.
callbacks = Doorbell("callbacks", 0.05)
redeliveries = Doorbell("redeliveries")
erasures = Doorbell("erasures")


def connect() -> None:
    """Let the doorbells of the services ring these."""
    doorbells.deliveries.ring = deliveries.ring
    doorbells.callbacks.ring = callbacks.ring
    doorbells.redeliveries.ring = redeliveries.ring
    doorbells.erasures.ring = erasures.ring

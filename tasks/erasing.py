"""Finishes the erasures that requests left to the worker, or that a kill interrupted (services.erasing)."""

from models.messages.erasure import LEASE_MS, Erasure
from services.erasing import resume


def work_off() -> None:
    """Finish the erasures whose lease has ended."""
    Erasure.recall(LEASE_MS)
    while erasure := Erasure.claim(LEASE_MS):
        resume(erasure)

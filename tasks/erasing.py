"""Finishes the erasures that requests left to the worker, or that a kill interrupted (services.erasing)."""

from models.messages.erasure import Erasure
from services.erasing import resume


def work_off() -> None:
    """Finish the erasures whose lease has ended."""
    while erasure := Erasure.claim():
        resume(erasure)

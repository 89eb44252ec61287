"""The things the network knows. Plain data; ``state.py`` is the only place that changes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sandbox.fates import FAILED, Fate, fate_of

PENDING, CONNECTED, DISCONNECTED, BANNED = "PENDING", "CONNECTED", "DISCONNECTED", "BANNED"


@dataclass(slots=True)
class Waba:
    """A WhatsApp Business Account. Numbers belong to it, callbacks are subscribed on it."""

    id: str
    business_id: str
    name: str
    subscribed: bool = False


@dataclass(slots=True)
class Number:
    """A business phone number. ``pin`` stays once set, as two-step verification does."""

    id: str
    waba_id: str
    digits: str
    verified_name: str
    status: str = PENDING
    pin: str | None = field(default=None, repr=False)
    onboarded_at: float | None = None


@dataclass(slots=True)
class Code:
    """A signup code: single use, and void after ``expires_at`` (Unix seconds)."""

    value: str
    waba_id: str
    expires_at: float
    used: bool = False


@dataclass(slots=True)
class Token:
    """A business token; it opens the objects of one WABA."""

    value: str
    waba_id: str
    issued_at: float


@dataclass(slots=True)
class Message:
    """An accepted outbound message.

    ``steps`` is the order in which its statuses are emitted, ``delay`` (seconds) lies before each.
    ``confirmed`` holds those whose callback got a 2xx, or that nobody was subscribed for.
    """

    id: str
    number_id: str
    to: str
    type: str
    content: Any
    accepted_at: float
    delay: float
    steps: tuple[str, ...]
    extras: dict[str, Any]
    confirmed: set[str] = field(default_factory=set)

    @property
    def fate(self) -> Fate:
        """The fate its recipient stands for."""
        return fate_of(self.to)

    def due_at(self, status: str) -> float:
        """When this status is emitted (Unix seconds)."""
        return self.accepted_at + self.delay * (self.steps.index(status) + 1)

    def happened_at(self, status: str) -> float:
        """When it happened at the recipient: in natural order, however the callbacks are mixed."""
        return self.accepted_at + self.delay * (self.fate.statuses.index(status) + 1)

    def shown(self, now: float) -> str:
        """The ticks a sender would see at this time: accepted, sent, delivered, read or failed."""
        reached = [status for status in self.fate.statuses if self.happened_at(status) <= now]
        return FAILED if FAILED in reached else (reached[-1] if reached else "accepted")


@dataclass(slots=True)
class Inbound:
    """A message from a person to a business number; ``item`` is what its callback carries."""

    id: str
    number_id: str
    person: str
    profile_name: str
    item: dict[str, Any]
    at: float
    read: bool = False


@dataclass(slots=True)
class AccountUpdate:
    """A change of a WABA that the platform announces.

    ``entry_id`` is the id the callback's entry carries.
    """

    key: str
    waba_id: str
    entry_id: str
    value: dict[str, Any]
    at: float

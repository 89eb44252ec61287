"""The network's entities. Plain data; only ``network.py`` changes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sandbox import clock
from sandbox.fates import FAILED, Fate, fate_of

PENDING, CONNECTED, DISCONNECTED, BANNED = "PENDING", "CONNECTED", "DISCONNECTED", "BANNED"
DELETED, MIGRATED = "DELETED", "MIGRATED"
GREEN, YELLOW, RED, UNKNOWN = "GREEN", "YELLOW", "RED", "UNKNOWN"


@dataclass(slots=True)
class Waba:
    """A WhatsApp Business Account. Numbers belong to it, callbacks are subscribed on it.

    ``override_url`` receives its callbacks instead of the app's URL. ``kept`` holds the account's settings.
    """

    id: str
    business_id: str
    name: str
    subscribed: bool = False
    override_url: str | None = None
    kept: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Number:
    """A business phone number. ``pin`` stays once set, as two-step verification does.

    ``registrations`` are the times (Unix seconds) at which it was registered or deregistered,
    ``override_url`` takes its callbacks instead of its WABA's. ``quality``, ``limit`` and
    ``name_status`` are the last ones of the platform. ``templates_sent`` counts towards the next fall of the
    quality. ``throughput`` is its own limit of messages a second, 0 for none, None for that of all numbers.
    ``kept`` holds what was set at its edges (profile, block list, QR codes and others), by their names.
    """

    id: str
    waba_id: str
    digits: str
    verified_name: str
    status: str = PENDING
    pin: str | None = field(default=None, repr=False)
    onboarded_at: float | None = None
    registrations: list[float] = field(default_factory=list)
    override_url: str | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    quality: str = GREEN
    limit: str = "TIER_2K"
    name_status: str = "APPROVED"
    templates_sent: int = 0
    throughput: int | None = None


@dataclass(slots=True)
class Code:
    """A signup code: single use, and void after ``expires_at`` (Unix seconds)."""

    value: str
    waba_id: str
    expires_at: float
    used: bool = False


@dataclass(slots=True)
class Token:
    """A business token, with access to the objects of one WABA.

    ``expires_at`` is in Unix seconds, None for never.
    """

    value: str
    waba_id: str
    issued_at: float
    expires_at: float | None = None
    revoked: bool = False

    def is_expired(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(slots=True)
class Message:
    """An accepted outbound message.

    ``steps`` is the order in which its statuses are emitted, ``delay`` (seconds) lies before each.
    ``confirmed`` holds those whose callback got a 2xx, or that nobody was subscribed for.
    ``statuses`` and ``failure`` stand for what its fate says when they are given. ``to`` is the key of the
    person, ``by_user_id`` says that the client knew no phone number, ``counted`` that the messaging limit
    counts the person. ``category`` and ``price`` (the type
    of its pricing) are those of a utility template or a free service message when they are None.
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
    statuses: tuple[str, ...] | None = None
    failure: int | None = None
    by_user_id: bool = False
    category: str | None = None
    price: str | None = None
    counted: bool = False

    @property
    def fate(self) -> Fate:
        """The fate that its recipient's number determines."""
        return fate_of(self.to)

    @property
    def course(self) -> tuple[str, ...]:
        """Its statuses in the order in which they happen at the recipient."""
        return self.fate.statuses if self.statuses is None else self.statuses

    @property
    def failure_code(self) -> int | None:
        """The error code of its ``failed`` status."""
        return self.fate.failure if self.failure is None else self.failure

    def due_at(self, status: str) -> float:
        """The time at which this status is emitted (Unix seconds)."""
        return self.accepted_at + self.delay * (self.steps.index(status) + 1)

    def happened_at(self, status: str) -> float:
        """The time of the status at the recipient, in natural order even if the callbacks are reordered."""
        return self.accepted_at + self.delay * (self.course.index(status) + 1)

    def shown(self, now: float) -> str:
        """The ticks a sender would see at this time: accepted, sent, delivered, read or failed."""
        reached = [status for status in self.course if self.happened_at(status) <= now]
        return FAILED if FAILED in reached else (reached[-1] if reached else "accepted")


@dataclass(slots=True)
class Inbound:
    """A message from a person (a key) to a business number; ``item`` is what its callback carries."""

    id: str
    number_id: str
    person: str
    profile_name: str
    item: dict[str, Any]
    at: float
    read: bool = False


@dataclass(slots=True)
class Media:
    """A media object of a number, available until ``expires_at`` (Unix seconds). ``size`` is in bytes."""

    id: str
    waba_id: str
    mime_type: str
    sha256: str
    size: int
    expires_at: float
    number_id: str | None = None


@dataclass(slots=True)
class AccountUpdate:
    """A change of a WABA that the platform announces under a ``webhook_field``.

    ``entry_id`` is the id the callback's entry carries.
    """

    key: str
    waba_id: str
    entry_id: str
    value: dict[str, Any]
    at: float
    webhook_field: str = "account_update"


@dataclass(slots=True)
class Template:
    """A message template of a WABA in one language.

    While a review is under way, ``review_at`` (Unix seconds) is when it ends, and ``verdict`` and
    ``reason`` are what it ends with. ``scored_at`` is when it got its score. ``refusal`` is the error code
    that every send of it gets, None for none. ``sends`` counts towards its next pause.
    """

    id: str
    waba_id: str
    name: str
    language: str
    category: str
    components: list[dict[str, Any]]
    status: str = PENDING
    parameter_format: str = "POSITIONAL"
    quality_score: str = UNKNOWN
    scored_at: float = field(default_factory=clock.now)
    rejected_reason: str = "NONE"
    review_at: float | None = None
    verdict: str = "APPROVED"
    reason: str = "NONE"
    refusal: int | None = None
    message_send_ttl_seconds: int | None = None
    sends: int = 0

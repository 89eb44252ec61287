"""The knobs of ``PUT /_sandbox/behaviour``. docs/sandbox.md has a table for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sandbox.knobs import CHECK, knob, milliseconds, optional, seconds, share, switch, whole, word

# One callback holds at most 1000 updates (Cloud API, Webhooks: delivery).
MAX_BATCH = 1000
# The highest throughput the platform grants a number (Cloud API, Throughput).
MAX_THROUGHPUT = 1000
MAX_SEED = 2**53
# More template messages than anybody sends to a sandbox.
MAX_TEMPLATE_SENDS = 1_000_000
IN_ANSWER, IN_STATUS = "answer", "status"
APPROVE, REJECT, NO_REVIEW = "approve", "reject", "none"
# Why the review refuses a template (Cloud API, Template review).
INVALID_FORMAT = "INVALID_FORMAT"
REASONS = (
    INVALID_FORMAT,
    "ABUSIVE_CONTENT",
    "INCORRECT_CATEGORY",
    "PROMOTIONAL",
    "SCAM",
    "TAG_CONTENT_MISMATCH",
)
CATEGORIES = ("utility", "marketing", "authentication")
# ``message_status`` in the response to a template send (Cloud API, Message templates: pacing and quality).
ACCEPTED, HELD, PAUSED = "accepted", "held_for_quality_assessment", "paused"
DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the network behaves; times in milliseconds, rates from 0 to 1.

    ``latency_ms`` delays the response to a send, after the message has been accepted.
    ``status_delay_ms`` lies before each status. ``duplicate_rate`` is the share of callbacks sent
    twice, ``error_rate`` that of sends refused before acceptance. ``reorder`` mixes the statuses of
    each message. ``batch_size`` is the most updates in one callback, which is sent when it is full or
    ``batch_wait_ms`` after its first update.
    ``media_url_ms`` is how long the address of a media object's bytes may be used.
    ``template_category`` is the category of unknown templates.
    """

    latency_ms: float = knob(0, milliseconds)
    status_delay_ms: float = knob(50, milliseconds)
    duplicate_rate: float = knob(0, share)
    reorder: bool = knob(default=False, check=switch)
    error_rate: float = knob(0, share)
    batch_size: int = knob(1, whole(1, MAX_BATCH))
    batch_wait_ms: float = knob(20, milliseconds)
    media_url_ms: float = knob(300_000, milliseconds)

    # Shares of accepted messages, by the change to their statuses.
    skip_delivered: float = knob(0, share)
    delivered_before_response: float = knob(0, share)
    failed_after_delivered: float = knob(0, share)
    no_status: float = knob(0, share)

    # Shares of updates, by the missing or extra parts of their callbacks.
    missing_contacts: float = knob(0, share)
    missing_profile: float = knob(0, share)
    missing_wa_id: float = knob(0, share)
    unknown_fields: float = knob(0, share)

    # Shares of accepted sends whose response is an error, late, or missing.
    server_error_rate: float = knob(0, share)
    hang_up_rate: float = knob(0, share)
    silence_rate: float = knob(0, share)
    slow_rate: float = knob(0, share)
    slow_ms: float = knob(5000, milliseconds)

    # The platform's rules. Those that would surprise a first send, or a load test, are off.
    service_window: bool = knob(default=False, check=switch)
    service_window_refusal: str = word(IN_ANSWER, IN_ANSWER, IN_STATUS)
    throughput_per_second: int = knob(0, whole(0, MAX_THROUGHPUT))
    pair_limit: bool = knob(default=False, check=switch)
    messaging_limit: bool = knob(default=False, check=switch)
    messaging_limit_seconds: float = knob(24 * 3600, seconds)
    register_limit: bool = knob(default=True, check=switch)
    token_life_seconds: float = knob(0, seconds)
    known_media: bool = knob(default=False, check=switch)
    strict_sends: bool = knob(default=False, check=switch)
    more_fates: bool = knob(default=False, check=switch)
    known_templates: bool = knob(default=False, check=switch)

    # The result of a template's review, and its duration.
    template_review: str = word(APPROVE, APPROVE, REJECT, NO_REVIEW)
    template_review_ms: float = knob(1000, milliseconds)
    template_reject_reason: str = word(INVALID_FORMAT, *REASONS)

    template_category: str = word(CATEGORIES[0], *CATEGORIES)
    message_status: str = word(ACCEPTED, ACCEPTED, HELD, PAUSED)

    # What template messages cause, after this number of them; 0 is never.
    template_pause_after: int = knob(0, whole(0, MAX_TEMPLATE_SENDS))
    template_pause_status: str = word(PAUSED, PAUSED, DISABLED)
    quality_falls_after: int = knob(0, whole(0, MAX_TEMPLATE_SENDS))
    quality_limit: bool = knob(default=False, check=switch)

    seed: int | None = knob(None, optional(whole(0, MAX_SEED)))

    def changed(self, changes: dict[str, Any]) -> Behaviour:
        """These knobs with the given changes.

        Raises ValueError with the reason, and then changes nothing.
        """
        checks = {each.name: each.metadata[CHECK] for each in fields(self)}
        for name, value in changes.items():
            if name not in checks:
                raise ValueError(f"{name} is no behaviour; there are {', '.join(sorted(checks))}")
            try:
                checks[name](value)
            except ValueError as error:
                raise ValueError(f"{name} {error}") from error
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All knobs as JSON."""
        return asdict(self)

"""An account's activity up to now: messages by status, delivery attempts and their latency."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peewee import SQL, fn

from models.clock import DAY_MS, MINUTE_MS
from models.database import fetch
from models.deliveries.attempt import BUCKETS, ENDS, NARROW, WIDE, AttemptTotal
from models.messages.message import Message
from models.reports.tally import HOUR_MS, MessageHour


@dataclass(frozen=True)
class Span:
    """A period that ends now: ``count`` steps of ``step`` ms, aligned to UTC."""

    label: str
    step: int
    count: int

    def starts(self, now: int) -> list[int]:
        """The start of each step. The current step is the last."""
        last = now - now % self.step
        return [last - self.step * back for back in reversed(range(self.count))]


SPANS = {
    "1h": Span("1 hour", 5 * MINUTE_MS, 12),
    "24h": Span("24 hours", HOUR_MS, 24),
    "7d": Span("7 days", 6 * HOUR_MS, 28),
    "30d": Span("30 days", DAY_MS, 30),
}
DEFAULT = "24h"
# For a broadcast, which may be over in minutes.
HOUR_BY_MINUTE = Span("1 hour", MINUTE_MS, 60)
# The steps that show how fast events go out now: the current one, and the one before.
RECENT = Span("10 minutes", NARROW, 2)


@dataclass(frozen=True)
class Attempts:
    """The results of the attempts of one step (AttemptTotal), and a histogram of their durations."""

    delivered: int = 0
    retried: int = 0
    failed: int = 0
    buckets: Sequence[int] = field(default=(0,) * len(BUCKETS), kw_only=True)

    @property
    def count(self) -> int:
        return self.delivered + self.retried + self.failed

    def took(self, share: float) -> float | None:
        """Estimate the latency percentile ``share`` in milliseconds. None without a response."""
        wanted = share * sum(self.buckets)
        for number, count in enumerate(self.buckets):
            if count and wanted <= count:
                return float(2 ** ((number + wanted / count) / 2))
            wanted -= count
        return None


def messages(account_id: str, span: Span, now: int) -> list[Mapping[str, int]]:
    """For each step, the messages created in it, counted by their present status."""
    starts = span.starts(now)
    query: Any
    if span.step < HOUR_MS:
        query = Message.select(Message.created_at / span.step, Message.status, fn.COUNT(SQL("*")))
        query = query.where(Message.account == account_id, Message.created_at >= starts[0])
    else:
        step = MessageHour.hour / (span.step // HOUR_MS)
        query = MessageHour.select(step, MessageHour.status, fn.SUM(MessageHour.total))
        since = starts[0] // HOUR_MS
        query = query.where(MessageHour.account_id == account_id, MessageHour.hour >= since)
    found: dict[int, Counter[str]] = {start: Counter() for start in starts}
    # Integer division. Grouped by column number: PostgreSQL treats two equal parameters as different.
    for step, status, count in fetch(query.group_by(SQL("1"), SQL("2")).tuples()):
        if step * span.step in found:
            found[step * span.step][status] = int(count)
    return list(found.values())


def by_minute(account_id: str, broadcast_id: str, span: Span, until: int) -> list[int]:
    """For each step of the span that ends then, the messages of the broadcast that were sent in it."""
    starts = span.starts(until)
    is_it = Message.broadcast_id == broadcast_id, Message.account == account_id
    query = Message.select(Message.created_at / span.step, fn.COUNT(SQL("*"))).where(
        *is_it, Message.created_at >= starts[0], Message.created_at < starts[-1] + span.step
    )
    found = dict(fetch(query.group_by(SQL("1")).tuples()))
    return [int(found.get(start // span.step, 0)) for start in starts]


def attempts(webhook_ids: Sequence[str], span: Span, now: int) -> list[Attempts]:
    """For each step, the results of the attempts at these webhooks."""
    starts = span.starts(now)
    width = NARROW if span.step < WIDE else WIDE
    sums = [fn.SUM(getattr(AttemptTotal, name)) for name in (*ENDS, *BUCKETS)]
    query = AttemptTotal.select(AttemptTotal.start / span.step, *sums).where(
        AttemptTotal.webhook.in_(list(webhook_ids)),
        AttemptTotal.width == width,
        AttemptTotal.start >= starts[0],
    )
    found = {
        step * span.step: Attempts(*map(int, counts[:3]), buckets=[*map(int, counts[3:])])
        for step, *counts in fetch(query.group_by(SQL("1")).tuples())
    }
    return [found.get(start, Attempts()) for start in starts]


def recent(webhook_id: str, now: int) -> tuple[float, float | None]:
    """The attempts a second at a webhook in the last minutes, and their median response time in ms."""
    found = total(attempts([webhook_id], RECENT, now))
    return 1000 * found.count / (now - RECENT.starts(now)[0]), found.took(0.5)


def total(steps: Sequence[Attempts]) -> Attempts:
    """The sum of all steps."""
    buckets = [sum(counts) for counts in zip(*(s.buckets for s in steps), strict=True)]
    return Attempts(*(sum(getattr(s, name) for s in steps) for name in ENDS), buckets=buckets)

"""How fast a worker sends to a webhook: the pace that its receiver shows (ADR 88).

A pace is a window, the most attempts in flight. A receiver that limits its requests, or takes none of them,
also has a rate. Both grow while the receiver takes events as quickly as usual, and shrink by half when it
says that it cannot. A pace is kept in memory: each worker learns it alone. All times are of one monotonic
clock, in seconds.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf

from webhooks.client import Answer

# The attempts in flight at a webhook that is not known yet, and at one that was slow.
FIRST, LEAST = 10, 2
# New events a second for a receiver that refuses them all.
LEAST_RATE = 0.5
# At a rate the events of so many seconds may start together.
BURST_SECONDS = 0.1
# An answer is late after this multiple of the quickest ones, and so many seconds more.
LATE_TIMES, LATE_SECONDS = 2, 0.02
# The quickest answer is forgotten by this part of it a second. It doubles in six minutes.
FORGOTTEN = 0.002
# Above its threshold a rate grows in a second by this part of it, at least by so many events.
GROWTH_PART, LEAST_GROWTH = 0.05, 0.2
# A rate ends when it allows so many times what the largest window can use.
USELESS = 2
# The least time of an answer, in seconds.
TICK = 0.001
# 429 Too Many Requests, 502 Bad Gateway, 503 Service Unavailable, 504 Gateway Timeout.
REFUSALS = frozenset({429, 502, 503, 504})
LIMITED = 429
# Those whose Retry-After counts, and how much of it does, in seconds.
RESTING = frozenset({429, 503})
LONGEST_REST = 3600


def _is_refusal(answer: Answer) -> bool:
    """Whether the receiver, or its machine, says that it cannot take more."""
    return answer.status_code is None or answer.status_code in REFUSALS


def _is_limit(answer: Answer) -> bool:
    """Whether the receiver says that it got too many requests. Other errors may have other causes."""
    return answer.status_code == LIMITED or bool(
        answer.status_code in RESTING and answer.retry_after
    )


def rest_of(answer: Answer, now: float) -> float:
    """For how many seconds the receiver asks to get no new events, 0 if it does not. ``now`` is Unix time."""
    if answer.status_code not in RESTING:
        return 0.0
    given = answer.retry_after.strip()
    if given.isascii() and given.isdecimal():
        # Not more digits than a time can have: int() refuses 5,000.
        return float(min(LONGEST_REST, int(given[:12])))
    try:
        until = parsedate_to_datetime(given)
    except (ValueError, OverflowError):
        return 0.0
    # A date without a zone is one of GMT (RFC 9110, section 5.6.7).
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    seconds = (until - datetime.fromtimestamp(now, UTC)).total_seconds()
    return min(LONGEST_REST, max(0.0, seconds))


class Rate:
    """New events a second for a receiver that refused one. It begins with half of ``a_second``."""

    def __init__(self, now: float, a_second: float) -> None:
        self.a_second = a_second
        # It doubles in a second up to this one, and grows by a part of it above.
        self._threshold = inf
        self._was_taken = True
        self._quickened_at = now
        # What may start now, and when that was computed.
        self._left, self._left_at = 0.0, now
        self.halve(now)

    def halve(self, now: float) -> None:
        """The receiver refused."""
        if self._was_taken:
            # An outage is one refusal, however long it is.
            self._threshold, self._was_taken = self.a_second / 2, False
        self.a_second = max(LEAST_RATE, self.a_second / 2)
        self._left, self._left_at, self._quickened_at = 0.0, now, now

    def quicken(self, now: float) -> None:
        """The receiver took an event. Grows for the time since it last grew, at most a second."""
        self._was_taken = True
        self.left(now)
        seconds, self._quickened_at = min(1.0, now - self._quickened_at), now
        if self.a_second < self._threshold:
            self.a_second = min(self._threshold, self.a_second * 2**seconds)
        else:
            self.a_second += max(LEAST_GROWTH, GROWTH_PART * self.a_second) * seconds

    def left(self, now: float) -> float:
        """How many events may start now."""
        most = max(1.0, BURST_SECONDS * self.a_second)
        self._left = min(most, self._left + (now - self._left_at) * self.a_second)
        self._left_at = now
        return self._left

    def take(self, now: float) -> None:
        """An event starts."""
        self._left = self.left(now) - 1

    def opens_at(self, now: float) -> float:
        """When the next event may start."""
        return now + max(0.0, 1 - self.left(now)) / self.a_second


class Pace:
    """The pace of one webhook. ``most`` limits its window. ``is_slow`` is the lane of its last claim."""

    def __init__(self, most: int, *, is_slow: bool = False) -> None:
        self.is_slow = is_slow
        self.in_flight = 0
        self.rate: Rate | None = None
        # Whether the rate is that of a receiver that limits its requests. Otherwise the next 2xx ends it.
        self._is_limited = False
        # Whether more may be due than the rate allowed to the last claim.
        self.may_wait = False
        # Until then the webhook's own limit allows no new event.
        self._closed_until = -inf
        self._first = min(most, LEAST if is_slow else FIRST)
        self._window, self._most = float(self._first), most
        # It doubles until the receiver is late or refuses for the first time.
        self._is_new = not is_slow
        self._quickest = inf
        self._taken_at = self._shrunk_at = self._last_at = -inf

    @property
    def window(self) -> int:
        """The most attempts in flight."""
        return int(self._window)

    @property
    def room(self) -> int:
        """How many more attempts may start."""
        return max(0, self.window - self.in_flight)

    def is_useless(self, since: float) -> bool:
        """Whether nothing is in flight, and it is as a new one or from before ``since``."""
        is_new = self._window == self._first and self.rate is None and self._closed_until == -inf
        last = max(self._last_at, self._closed_until)
        return not self.in_flight and (is_new or last < since)

    def news(self, now: float) -> int:
        """How many of them may be for new events. Retries need no part of the rate."""
        if self.is_waiting(now):
            return 0
        return self.room if self.rate is None else min(self.room, int(self.rate.left(now)))

    def is_waiting(self, now: float) -> bool:
        """Whether a rate or limit allows no new event now."""
        return now < self._closed_until or (self.rate is not None and self.rate.left(now) < 1)

    def close(self, until: float) -> None:
        """No new event may start before then: the webhook's own limit (models.deliveries.webhook)."""
        self._closed_until, self.may_wait = until, True

    def opens_at(self, now: float) -> float:
        """When the next new event may start."""
        return max(self._closed_until, now if self.rate is None else self.rate.opens_at(now))

    def start(self, now: float, *, is_new: bool) -> None:
        """Count an attempt."""
        self.in_flight += 1
        self._last_at = now
        if is_new and self.rate is not None:
            self.rate.take(now)
            self.may_wait = True

    def end(self, now: float, started_at: float, answer: Answer | None) -> None:
        """Note what an attempt shows that ended now. Without an answer nothing was sent."""
        together, self.in_flight = self.in_flight, self.in_flight - 1
        self._last_at = now
        if answer is None:
            return
        seconds = max(TICK, answer.duration_ms / 1000)
        if answer.success:
            self._grow(now, seconds, together)
        elif answer.timed_out:
            self._shrink(now)
        # Attempts that began before it shrank say nothing new, and neither does another error.
        elif _is_refusal(answer) and started_at >= self._shrunk_at:
            is_limit = _is_limit(answer)
            # One that fails now and then needs no rate: it would become slow for no reason.
            if is_limit or self._taken_at < self._shrunk_at:
                self._is_limited |= is_limit
                if self.rate is None:
                    # A refusal may be quicker than a 2xx.
                    usual = seconds if self._quickest == inf else max(seconds, self._quickest)
                    self.rate = Rate(now, self.window / usual)
                else:
                    self.rate.halve(now)
            self._shrink(now)

    def _grow(self, now: float, seconds: float, together: int) -> None:
        self._quickest = min(seconds, self._quickest * (1 + FORGOTTEN * (now - self._taken_at)))
        self._taken_at = now
        if self.rate is not None:
            self.rate.quicken(now)
            is_useless = self.rate.a_second * self._quickest > USELESS * self._most
            if is_useless or not self._is_limited:
                self.rate, self._is_limited = None, False
        if seconds > LATE_TIMES * self._quickest + LATE_SECONDS:
            self._is_new = False
        elif 2 * together >= self.window:
            # A window that is not used says nothing about a larger one.
            step = 1 if self._is_new else 1 / self._window
            self._window = min(self._most, self._window + step)

    def _shrink(self, now: float) -> None:
        self._is_new = False
        self._window = max(min(LEAST, self._most), self._window / 2)
        self._shrunk_at = now


# A pace is forgotten after so many seconds without an attempt, at the next of the looks every TIDY_SECONDS.
FORGET_SECONDS, TIDY_SECONDS = 600.0, 10.0


class Paces:
    """The paces that a worker knows, by webhook. ``most`` limits the window of each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, Pace] = {}
        self._tidied_at = -inf

    def of(self, webhook_id: str, *, is_slow: bool) -> Pace:
        """The pace of a webhook, which is made if it is not known."""
        if webhook_id not in self._known:
            self._known[webhook_id] = Pace(self._most, is_slow=is_slow)
        pace = self._known[webhook_id]
        pace.is_slow = is_slow
        return pace

    def known(self, now: float, *, is_slow: bool) -> dict[str, tuple[int, int]]:
        """How many attempts a claim of this lane may start at each webhook, and how many for new events."""
        if now >= self._tidied_at + TIDY_SECONDS:
            self._tidied_at, since = now, now - FORGET_SECONDS
            self._known = {id_: p for id_, p in self._known.items() if not p.is_useless(since)}
        for pace in self._known.values():
            # A claim of the other lane takes nothing of it.
            is_left = pace.may_wait and pace.is_slow != is_slow
            pace.may_wait = is_left or pace.is_waiting(now)
        return {id_: (pace.room, pace.news(now)) for id_, pace in self._known.items()}

    def opens_at(self, now: float, slow: Collection[bool] = (False, True)) -> float | None:
        """When a rate next allows an event that may wait for it, in these lanes. None if there is none."""
        waiting = (p for p in self._known.values() if p.may_wait and p.is_slow in slow)
        return min((p.opens_at(now) for p in waiting), default=None)

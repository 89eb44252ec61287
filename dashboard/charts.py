"""Charts of the activity of an account or a webhook, over the time span in the URL.

A chart has the geometry of its SVG (charts.html): positions of bars, lines, ticks and labels. Steps begin at
whole hours or days in UTC; dashboard.js puts their times into the reader's time zone. The figures are also in
a table, so nothing depends on seeing the picture.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

from flask import request

from dashboard.list_filters import as_typed
from models import clock
from models.clock import DAY_MS, MINUTE_MS
from models.deliveries.webhook import Webhook
from models.messages.message import MessageStatus
from models.reports.activity import DEFAULT, SPANS, Attempts, Span, attempts, messages, total
from models.reports.tally import HOUR_MS

# Final statuses of outbound messages, best first: the order of the stacked bar.
SENT = (
    ("Read", "solid", [MessageStatus.READ]),
    ("Delivered", "striped", [MessageStatus.DELIVERED]),
    ("Accepted", "barred", [MessageStatus.SENT]),
    ("In progress or unknown", "dotted", [MessageStatus.PENDING, MessageStatus.UNKNOWN]),
    ("Failed", "crossed", [MessageStatus.FAILED]),
)
RECEIVED = ("Received", "solid", [MessageStatus.RECEIVED])
ENDED = (
    ("Delivered", "solid", "delivered"),
    ("Failed attempt, will retry", "dotted", "retried"),
    ("Failed", "crossed", "failed"),
)
# Median and 95th percentile.
SHARES = (("Median", "round", 0.5), ("95th percentile", "square", 0.95))
# In SVG user units. The plot is the area within the margins.
WIDTH, HEIGHT = 640, 210
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 14, 30
PLOT_WIDTH, PLOT_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
BAR_SHARE = 0.72
MOST_TICKS = 4
# Every nth step has a label. On a phone six or seven labels fit below a chart. Keys: the step's length.
LABEL_EVERY = {MINUTE_MS: 10, 5 * MINUTE_MS: 2, HOUR_MS: 4, 6 * HOUR_MS: 4, DAY_MS: 5}
Value = float | None


def whole(value: Value) -> str:
    """A count, with thousands separators."""
    return "" if value is None else f"{value:,.0f}"


def milliseconds(value: Value) -> str:
    """A duration, in two significant digits because it is an estimate."""
    return "" if value is None else f"{float(f'{value:.2g}'):,.0f} ms"


def percent(value: Value) -> str:
    """A share of 100, rounded down so that 100 % means all."""
    return "" if value is None else f"{int(value * 10) / 10:g} %"


@dataclass(frozen=True)
class Series:
    """The values of one line or bar of a chart; None for a step without a value.

    ``look`` is a class of overview.css with its own pattern. ``link`` is the list that ``total`` counts.
    """

    label: str
    look: str
    values: Sequence[Value]
    total: str = ""
    link: str = ""


@dataclass(frozen=True)
class Time:
    """A time on a chart. ``look`` is its format, also in dashboard.js: step, clock or day."""

    at: int
    look: str

    @property
    def text(self) -> str:
        """In UTC."""
        moment = datetime.fromtimestamp(self.at / 1000, UTC)
        day, clock = f"{moment:%b} {moment.day}", f"{moment:%H:%M}"
        return {"day": day, "clock": clock}.get(self.look, f"{day}, {clock}")


@dataclass(frozen=True)
class Chart:
    """Series over the steps of a span: stacked bars, or lines. ``name`` is unique on its page."""

    name: str
    title: str
    span: Span
    now: int
    series: Sequence[Series]
    say: Callable[[Value], str] = whole
    is_lines: bool = False
    top: float | None = None

    @cached_property
    def starts(self) -> list[int]:
        """The start of each step."""
        return self.span.starts(self.now)

    @property
    def is_empty(self) -> bool:
        """True if no step has a value."""
        # A line at 0 is visible, a bar of the value 0 is not.
        values = (value for series in self.series for value in series.values)
        return all(value is None if self.is_lines else not value for value in values)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The position and label of round values, from 0 to at least the highest value."""
        step, count = self._scale
        return [(self._y(n * step), _short(n * step)) for n in range(count + 1)]

    @property
    def labels(self) -> Iterator[tuple[float, Time]]:
        """The position and time of each label below the plot. Spans of several days have days as labels."""
        step, every = self.span.step, LABEL_EVERY[self.span.step]
        is_of_days = step * len(self.starts) > DAY_MS
        for position, start in enumerate(self.starts):
            if start // step % every == 0:
                # In other time zones a step may begin on one day and lie mostly in the next.
                time = Time(start + step // 2, "day") if is_of_days else Time(start, "clock")
                yield self._middle(position), time

    @property
    def columns(self) -> Iterator[tuple[float, float, Time, str]]:
        """Left edge and width of each step, its time, and its values as text."""
        width = PLOT_WIDTH / len(self.starts)
        for position, (time, values) in enumerate(self.rows):
            said = ", ".join(
                f"{series.label.lower()} {value}"
                for series, value in zip(self.series, values, strict=True)
                if value not in ("", "0")
            )
            yield LEFT + position * width, width, time, said or "none"

    @property
    def rows(self) -> Iterator[tuple[Time, list[str]]]:
        """The rows of the table: the start of each step, and its value in each series."""
        for position, start in enumerate(self.starts):
            values = [self.say(series.values[position]) for series in self.series]
            yield Time(start, "step"), values

    @property
    def bars(self) -> Iterator[tuple[Series, str]]:
        """Each series with the path of its bars, stacked on the previous series."""
        below = [0.0] * len(self.starts)
        width = PLOT_WIDTH / len(self.starts) * BAR_SHARE
        for series in self.series:
            path = ""
            for position, value in enumerate(series.values):
                if value:
                    y, base = self._y(below[position] + value), self._y(below[position])
                    left = self._middle(position) - width / 2
                    path += f"M{left:.1f} {base:.1f}V{y:.1f}h{width:.1f}V{base:.1f}z"
                    below[position] += value
            yield series, path

    @property
    def lines(self) -> Iterator[tuple[Series, str, list[tuple[float, float]]]]:
        """Each series with the path of its line, and its points. Steps without a value interrupt it."""
        for series in self.series:
            path, points, is_broken = "", [], True
            for position, value in enumerate(series.values):
                if value is not None:
                    x, y = self._middle(position), self._y(value)
                    path += f"{'M' if is_broken else 'L'}{x:.1f} {y:.1f}"
                    points.append((round(x, 1), round(y, 1)))
                is_broken = value is None
            yield series, path, points

    @property
    def _highest(self) -> float:
        if self.top is not None:
            return self.top
        steps = zip(*(series.values for series in self.series), strict=True)
        join = max if self.is_lines else sum
        return max((join(value or 0 for value in step) for step in steps), default=0) or 1

    @cached_property
    def _scale(self) -> tuple[float, int]:
        """The interval between two ticks, and the number of intervals up to the highest value."""
        step = _round_step(self._highest)
        return step, int(-(-self._highest // step))

    def _y(self, value: float) -> float:
        step, count = self._scale
        return TOP + PLOT_HEIGHT * (1 - value / (step * count))

    def _middle(self, position: int) -> float:
        return LEFT + (position + 0.5) * PLOT_WIDTH / len(self.starts)


def _round_step(highest: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 and so on that needs at most MOST_TICKS intervals."""
    step, factors = 1.0, cycle((2, 2.5, 2))
    while highest / step > MOST_TICKS:
        step *= next(factors)
    return step


def _short(value: float) -> str:
    for bound, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= bound:
            return f"{value / bound:g}{letter}"
    return f"{value:g}"


def chosen_span() -> str:
    """The key of SPANS in the URL, else DEFAULT."""
    asked = request.args.get("range", "")
    return asked if asked in SPANS else DEFAULT


def of_account(account_id: str, webhooks: Sequence[Webhook]) -> list[Chart]:
    """Messages sent and received, delivery attempts, and response times."""
    span, now = SPANS[chosen_span()], clock.now()
    found = messages(account_id, span, now)
    since = as_typed(span.starts(now)[0])
    *sent, received = [_messages(found, since, kind) for kind in (*SENT, RECEIVED)]
    tried = attempts([webhook.id for webhook in webhooks], span, now)
    ended = [_counts(label, look, [getattr(s, end) for s in tried]) for label, look, end in ENDED]
    return [
        Chart("sent", "Messages sent", span, now, sent),
        Chart("received", "Messages received", span, now, [received]),
        Chart("deliveries", "Delivery attempts", span, now, ended),
        _latency(span, now, tried),
    ]


def of_webhook(webhook: Webhook) -> Mapping[str, Any]:
    """The charts of one webhook, for webhook_charts.html."""
    span, now = SPANS[chosen_span()], clock.now()
    tried = attempts([webhook.id], span, now)
    shares = [100 * step.delivered / step.count if step.count else None for step in tried]
    whole_time = total(tried)
    share = 100 * whole_time.delivered / whole_time.count if whole_time.count else None
    rate = Series("2xx responses", "round", shares, percent(share))
    success = Chart(
        "success", "Success rate, %", span, now, [rate], say=percent, is_lines=True, top=100
    )
    return {"spans": SPANS, "span": chosen_span(), "all": [success, _latency(span, now, tried)]}


def _latency(span: Span, now: int, tried: Sequence[Attempts]) -> Chart:
    whole_time = total(tried)
    series = [
        Series(label, look, [s.took(share) for s in tried], milliseconds(whole_time.took(share)))
        for label, look, share in SHARES
    ]
    return Chart("latency", "Response time, ms", span, now, series, say=milliseconds, is_lines=True)


def _messages(
    found: Sequence[Mapping[str, int]], since: str, kind: tuple[str, str, list[MessageStatus]]
) -> Series:
    """Messages with one of these statuses. A link filters only if there is exactly one."""
    label, look, statuses = kind
    counts = [sum(step[status] for status in statuses) for step in found]
    counted = _counts(label, look, counts)
    if len(statuses) > 1 or not any(counts):
        return counted
    query = urlencode({"status": statuses[0], "since": since})
    return replace(counted, link=f"/dashboard/messages?{query}")


def _counts(label: str, look: str, values: Sequence[int]) -> Series:
    return Series(label, look, values, whole(sum(values)))

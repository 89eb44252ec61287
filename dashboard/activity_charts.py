"""Charts of the activity of an account or a webhook, over the time span in the URL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from flask import request

from dashboard.charts import Chart, Series, milliseconds, percent, whole
from dashboard.list_filters import as_typed
from models import clock
from models.deliveries.webhook import Webhook
from models.messages.message import MessageStatus
from models.reports.activity import DEFAULT, SPANS, Attempts, Span, attempts, messages, total

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


def chosen_span() -> str:
    """The key of SPANS in the URL, else DEFAULT."""
    asked = request.args.get("range", "")
    return asked if asked in SPANS else DEFAULT


def of_account(account_id: str, webhooks: Sequence[Webhook]) -> list[Chart]:
    """Messages sent and received, delivery attempts, and response times."""
    span, now = SPANS[chosen_span()], clock.now()
    found = messages(account_id, span, now)
    since = as_typed(span.starts(now)[0])
    *sent, received = [_messages(found, since, *kind) for kind in (*SENT, RECEIVED)]
    tried = attempts([webhook.id for webhook in webhooks], span, now)
    ended = [_counts(label, look, [getattr(s, end) for s in tried]) for label, look, end in ENDED]
    return [
        _chart("sent", "Messages sent", span, now, sent),
        _chart("received", "Messages received", span, now, [received]),
        _chart("deliveries", "Delivery attempts", span, now, ended),
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
    success = _chart(
        "success", "Success rate, %", span, now, [rate], say=percent, is_lines=True, top=100
    )
    return {"spans": SPANS, "span": chosen_span(), "all": [success, _latency(span, now, tried)]}


def _latency(span: Span, now: int, tried: Sequence[Attempts]) -> Chart:
    whole_time = total(tried)
    series = [
        Series(label, look, [s.took(share) for s in tried], milliseconds(whole_time.took(share)))
        for label, look, share in SHARES
    ]
    return _chart(
        "latency", "Response time, ms", span, now, series, say=milliseconds, is_lines=True
    )


def _messages(
    found: Sequence[Mapping[str, int]],
    since: str,
    label: str,
    look: str,
    statuses: Sequence[MessageStatus],
) -> Series:
    """Messages with one of these statuses. A link filters only if there is exactly one."""
    counts = [sum(step[status] for status in statuses) for step in found]
    counted = _counts(label, look, counts)
    if len(statuses) > 1 or not any(counts):
        return counted
    query = urlencode({"status": statuses[0], "since": since})
    return replace(counted, link=f"/dashboard/messages?{query}")


def _counts(label: str, look: str, values: Sequence[int]) -> Series:
    return Series(label, look, values, whole(sum(values)))


def _chart(
    name: str, title: str, span: Span, now: int, series: Sequence[Series], **how: Any
) -> Chart:
    return Chart(name, title, span, span.starts(now), series, **how)

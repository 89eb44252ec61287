"""The log line, the span and the measurements of each delivery attempt."""

import collections
import logging
from contextlib import AbstractContextManager, nullcontext
from urllib.parse import urlsplit

from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, get_current_span
from prometheus_client import Counter, Histogram

from models.deliveries.attempt import Outcome
from models.deliveries.claim import ClaimedDelivery
from models.deliveries.delivery import DeliveryState
from services import telemetry

logger = logging.getLogger(__name__)

# Outcomes of an attempt. A refusal is a response other than 2xx.
SUCCESS, REFUSED, TIMEOUT, NO_ANSWER = "success", "refused", "timeout", "no_answer"
ATTEMPT_SECONDS = Histogram(
    "gateway_attempt_duration_seconds",
    "Duration of a delivery attempt, by outcome",
    ["outcome"],
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
LAG_SECONDS = Histogram(
    "gateway_delivery_lag_seconds",
    "Time from an event to its first delivery attempt",
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 60, 600),
)
DELIVERIES = Counter(
    "gateway_deliveries", "Finished deliveries: delivered or given up", ["outcome"]
)
PAUSED = Counter(
    "gateway_webhooks_paused",
    "Webhooks that were due while their account or host was at its limit of a minute",
)
# An alert on an increase needs a series that already exists at 0.
for _outcome in ("delivered", "given_up"):
    DELIVERIES.labels(outcome=_outcome)
for _outcome in (SUCCESS, REFUSED, TIMEOUT, NO_ANSWER):
    ATTEMPT_SECONDS.labels(outcome=_outcome)


def _word_of(outcome: Outcome) -> str:
    if outcome.success:
        return SUCCESS
    if outcome.timed_out:
        return TIMEOUT
    return NO_ANSWER if outcome.status_code is None else REFUSED


def attempt_span(claimed: ClaimedDelivery) -> AbstractContextManager[Span]:
    if telemetry.tracer is None:
        return nullcontext(INVALID_SPAN)
    about = telemetry.ours(_identifiers(claimed))
    about |= {"http.request.method": "POST", "server.address": _host(claimed)}
    return telemetry.span("deliver event", SpanKind.CLIENT, about)


def report_attempt(claimed: ClaimedDelivery, outcome: Outcome) -> None:
    """Report the outcome of an attempt in the log, its span and the metrics."""
    word, lag_ms = _word_of(outcome), max(0, outcome.started_at - claimed.created_at)
    ATTEMPT_SECONDS.labels(outcome=word).observe(outcome.duration_ms / 1000)
    if claimed.attempt_number == 1:
        LAG_SECONDS.observe(lag_ms / 1000)
    span = get_current_span()
    span.set_attribute("gateway.outcome", word)
    if outcome.status_code is not None:
        span.set_attribute("http.response.status_code", outcome.status_code)
    if not outcome.success:
        span.set_status(StatusCode.ERROR)
    fields = _identifiers(claimed) | {
        "host": _host(claimed),
        "outcome": word,
        "status": outcome.status_code,
        "duration_ms": outcome.duration_ms,
        "lag_ms": lag_ms,
    }
    logger.info("attempt", extra={"fields": fields})


def count_recorded(states: collections.Counter[str]) -> None:
    """Count the deliveries that reached these states (models.deliveries.attempt.record_outcomes)."""
    given_up = states[DeliveryState.FAILED] + states[DeliveryState.SKIPPED]
    DELIVERIES.labels(outcome="delivered").inc(states[DeliveryState.DELIVERED])
    DELIVERIES.labels(outcome="given_up").inc(given_up)


def _identifiers(claimed: ClaimedDelivery) -> dict[str, str | int]:
    return {
        "delivery_id": claimed.delivery_id,
        "webhook_id": claimed.webhook.id,
        "account_id": claimed.webhook.account_id,
        "event_id": claimed.content.event_id,
        "event_kind": claimed.content.kind,
        "subject_id": claimed.subject_id,
        "attempt": claimed.attempt_number,
    }


def _host(claimed: ClaimedDelivery) -> str:
    """The host only, because the path and query of a webhook's URL often hold a token."""
    return urlsplit(claimed.webhook.url).hostname or ""

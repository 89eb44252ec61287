"""One line and one span per delivery attempt, with the identifiers by which somebody looks for it."""

import logging
from contextlib import AbstractContextManager
from enum import StrEnum
from urllib.parse import urlsplit

from opentelemetry.trace import Span, SpanKind, StatusCode, get_current_span

from models.claim import ClaimedDelivery
from tasks import telemetry
from webhooks.client import Answer

logger = logging.getLogger(__name__)


class AttemptOutcome(StrEnum):
    """What came of an attempt, in one word."""

    SUCCESS = "success"
    REFUSED = "refused"  # an answer that is not 2xx
    TIMEOUT = "timeout"
    NO_ANSWER = "no_answer"


def outcome_of(answer: Answer) -> AttemptOutcome:
    """The word for an answer, or for none."""
    if answer.success:
        return AttemptOutcome.SUCCESS
    if answer.timed_out:
        return AttemptOutcome.TIMEOUT
    return AttemptOutcome.NO_ANSWER if answer.status_code is None else AttemptOutcome.REFUSED


def attempt_span(claimed: ClaimedDelivery) -> AbstractContextManager[Span]:
    """A span of the attempt inside it."""
    about = telemetry.ours(_identifiers(claimed))
    about |= {"http.request.method": "POST", "server.address": _host(claimed)}
    return telemetry.span("deliver event", SpanKind.CLIENT, about)


def report_attempt(claimed: ClaimedDelivery, answer: Answer, started_at: int) -> None:
    """Say what came of an attempt, in the log and in its span. Times in milliseconds."""
    outcome = str(outcome_of(answer))
    span = get_current_span()
    span.set_attribute("gateway.outcome", outcome)
    if answer.status_code is not None:
        span.set_attribute("http.response.status_code", answer.status_code)
    if not answer.success:
        span.set_status(StatusCode.ERROR)
    fields = _identifiers(claimed) | {
        "host": _host(claimed),
        "outcome": outcome,
        "status": answer.status_code,
        "duration_ms": answer.duration_ms,
        "lag_ms": max(0, started_at - claimed.created_at),
    }
    logger.info("attempt", extra={"fields": fields})


def _identifiers(claimed: ClaimedDelivery) -> dict[str, str | int]:
    return {
        "delivery_id": claimed.delivery_id,
        "webhook_id": claimed.webhook.id,
        "account_id": claimed.webhook.account_id,
        "event_id": claimed.event_id,
        "event_kind": claimed.event_kind,
        "subject_id": claimed.subject_id,
        "attempt": claimed.attempt_number,
    }


def _host(claimed: ClaimedDelivery) -> str:
    """All that is said of the receiver's address: its path and query often hold a token."""
    return urlsplit(claimed.webhook.url).hostname or ""

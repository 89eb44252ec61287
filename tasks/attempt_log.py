"""One line and one span per delivery attempt, with the identifiers by which somebody looks for it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from urllib.parse import urlsplit

from models.claim import ClaimedDelivery
from tasks import spans
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


def log_attempt(claimed: ClaimedDelivery, answer: Answer, started_at: int) -> None:
    """Say what came of an attempt. Times in milliseconds.

    Of the receiver's address only the host is said: its path and query often hold a token.
    """
    fields = {
        "delivery_id": claimed.delivery_id,
        "webhook_id": claimed.webhook.id,
        "account_id": claimed.webhook.account_id,
        "event_id": claimed.event_id,
        "event_kind": claimed.event_kind,
        "subject_id": claimed.subject_id,
        "attempt": claimed.attempt_number,
        "host": urlsplit(claimed.webhook.url).hostname,
        "outcome": outcome_of(answer),
        "status": answer.status_code,
        "duration_ms": answer.duration_ms,
        "lag_ms": max(0, started_at - claimed.created_at),
    }
    logger.info("attempt", extra={"fields": fields})


@contextmanager
def traced_attempt(claimed: ClaimedDelivery) -> Iterator[Callable[[Answer], None]]:
    """A span of the attempt inside it, which is to be told the answer."""
    about: spans.Attributes = {
        "gateway.delivery_id": claimed.delivery_id,
        "gateway.webhook_id": claimed.webhook.id,
        "gateway.account_id": claimed.webhook.account_id,
        "gateway.event_id": claimed.event_id,
        "gateway.event_kind": claimed.event_kind,
        "gateway.subject_id": claimed.subject_id,
        "gateway.attempt": claimed.attempt_number,
        "http.request.method": "POST",
        "server.address": urlsplit(claimed.webhook.url).hostname,
    }
    with spans.span("deliver event", spans.Kind.CLIENT, about) as span:
        yield lambda answer: span.note(
            {
                "http.response.status_code": answer.status_code,
                "gateway.outcome": str(outcome_of(answer)),
            },
            failed=not answer.success,
        )

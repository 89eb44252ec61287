"""What a process counts and times for operators, in Prometheus' terms.

Counts begin at nought with each process, or with all of them where they count together
(gateway.ops.metrics). Sends and callbacks are the web's, the rest the workers'.
"""

from collections.abc import Sequence
from types import NoneType

from prometheus_client import Counter, Histogram, disable_created_metrics

from models.attempt import Outcome
from models.claim import ClaimedDelivery
from networks import errors as network
from tasks.attempt_log import AttemptOutcome, outcome_of
from webhooks.client import Answer

# Without them each count would be there twice, the second time as the moment of its birth.
disable_created_metrics()  # type: ignore[no-untyped-call]

SEND_OUTCOMES: dict[type[network.NetworkError | None], str] = {
    NoneType: "accepted",
    network.RefusedError: "refused",
    network.ThrottledError: "throttled",
    network.NotReachedError: "not_reached",
    network.AmbiguousError: "ambiguous",
}
# Any other error: the number itself, or its owner, stands in the way.
NUMBER = "number"
SENDS = Counter("gateway_sends", "Messages handed to the network, by what it said", ["outcome"])
CALLBACKS = Counter("gateway_callbacks", "Callbacks of the network", ["outcome"])
ATTEMPT_SECONDS = Histogram(
    "gateway_attempt_duration_seconds",
    "Time of one delivery attempt, by its outcome",
    ["outcome"],
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
LAG_SECONDS = Histogram(
    "gateway_delivery_lag_seconds",
    "Time from an event to the first attempt to deliver it",
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 60, 600),
)
DELIVERIES = Counter(
    "gateway_deliveries", "Deliveries that came to their end: delivered or given up", ["outcome"]
)

# A series that is there from the beginning can be alerted on at its first step.
for _outcome in (*SEND_OUTCOMES.values(), NUMBER):
    SENDS.labels(outcome=_outcome)
for _outcome in ("accepted", "forged"):
    CALLBACKS.labels(outcome=_outcome)
for _outcome in ("delivered", "given_up"):
    DELIVERIES.labels(outcome=_outcome)
for _outcome in AttemptOutcome:
    ATTEMPT_SECONDS.labels(outcome=_outcome)


def count_send(error: network.NetworkError | None) -> None:
    """Count one message that the network was asked to take; ``error`` is None when it did."""
    SENDS.labels(outcome=SEND_OUTCOMES.get(type(error), NUMBER)).inc()


def count_attempt(claimed: ClaimedDelivery, answer: Answer, started_at: int) -> None:
    """Time one attempt, which began at ``started_at`` in milliseconds."""
    ATTEMPT_SECONDS.labels(outcome=outcome_of(answer)).observe(answer.duration_ms / 1000)
    if claimed.attempt_number == 1:
        LAG_SECONDS.observe(max(0, started_at - claimed.created_at) / 1000)


def count_recorded(outcomes: Sequence[Outcome], *, retried: int) -> None:
    """Count the deliveries that ended with these outcomes, of which ``retried`` go on."""
    delivered = sum(outcome.success for outcome in outcomes)
    DELIVERIES.labels(outcome="delivered").inc(delivered)
    DELIVERIES.labels(outcome="given_up").inc(len(outcomes) - delivered - retried)

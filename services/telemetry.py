"""Log fields, spans and counters of requests and tasks.

Spans are OpenTelemetry's. There are none until gateway.ops.tracing sets a tracer. Log fields and
attributes are only our identifiers, fixed words and figures. They never contain a key, a secret, a phone
number or the text of a message, and only the host of an address.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, Tracer, get_current_span
from prometheus_client import Counter, disable_created_metrics

from networks import exceptions as network

Attributes = Mapping[str, str | int]

# Otherwise each counter has a second series, the time of its creation.
disable_created_metrics()  # type: ignore[no-untyped-call]

# Any other error counts as "number": the cause is the number or its owner.
SEND_FAILURES: dict[type[network.NetworkError], str] = {
    network.RefusedError: "refused",
    network.ThrottledError: "throttled",
    network.NotReachedError: "not_reached",
    network.AmbiguousError: "ambiguous",
}
SENDS = Counter("gateway_sends", "Messages sent to the network, by outcome", ["outcome"])
REFUSED_BUSY = Counter(
    "gateway_sends_refused_busy", "Sends refused with 429 because too much work was due"
)
LOG_DROPPED = Counter(
    "gateway_log_dropped", "Lines of the log that were dropped because its reader stalled or ended"
)
CALLBACKS = Counter("gateway_callbacks", "Callbacks from the network, by outcome", ["outcome"])
# An alert on an increase needs a series that already exists at 0.
for _outcome in ("accepted", *SEND_FAILURES.values(), "number"):
    SENDS.labels(outcome=_outcome)
for _outcome in ("accepted", "forged"):
    CALLBACKS.labels(outcome=_outcome)

tracer: Tracer | None = None
# Fields of every log line of the current request. None outside of a request.
request_fields: ContextVar[dict[str, str] | None] = ContextVar("request_fields", default=None)


def note(**identifiers: str) -> None:
    """Add identifiers, never content, to the log lines of the current request and to its span."""
    if (fields := request_fields.get()) is not None:
        fields.update(identifiers)
    if tracer is not None:
        get_current_span().set_attributes(ours(identifiers))


def ours(fields: Attributes) -> dict[str, str | int]:
    """Log fields as attributes of a span, with the prefix ``gateway.``."""
    return {f"gateway.{name}": value for name, value in fields.items()}


@contextmanager
def span(
    name: str, kind: SpanKind, attributes: Attributes, parent: Context | None = None
) -> Iterator[Span]:
    """A span of the work inside. Of an exception it has only the class, as the text may contain secrets."""
    if tracer is None:
        yield INVALID_SPAN
        return
    with tracer.start_as_current_span(
        name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as begun:
        try:
            yield begun
        except Exception as error:
            begun.set_attribute("error.type", type(error).__name__)
            begun.set_status(StatusCode.ERROR)
            raise


def count_send(error: network.NetworkError | None) -> None:
    """Count one message that was sent to the network. ``error`` is None if the network accepted it."""
    outcome = "accepted" if error is None else SEND_FAILURES.get(type(error), "number")
    SENDS.labels(outcome=outcome).inc()

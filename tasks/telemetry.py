"""Log fields, spans and counters of the work that a request or a task does.

Spans are OpenTelemetry's. There are none until gateway.ops.tracing sets a tracer. Log fields and
attributes are identifiers, words and figures of ours: no key, secret, phone number or text of a message, and
of an address only the host.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, Tracer, get_current_span
from prometheus_client import Counter, disable_created_metrics

from networks import exceptions as network

Attributes = Mapping[str, str | int]

# Without this each counter has a second series, the time at which it was made.
disable_created_metrics()  # type: ignore[no-untyped-call]

# Any other error is "number": the number itself, or its owner, stands in the way.
SEND_FAILURES: dict[type[network.NetworkError], str] = {
    network.RefusedError: "refused",
    network.ThrottledError: "throttled",
    network.NotReachedError: "not_reached",
    network.AmbiguousError: "ambiguous",
}
SENDS = Counter("gateway_sends", "Messages handed to the network, by what it said", ["outcome"])
PUT_OFF = Counter("gateway_sends_put_off", "Sends answered 429 because too much work was due")
CALLBACKS = Counter("gateway_callbacks", "Callbacks of the network", ["outcome"])
# An alert needs a series that is there before its first step.
for _outcome in ("accepted", *SEND_FAILURES.values(), "number"):
    SENDS.labels(outcome=_outcome)
for _outcome in ("accepted", "forged"):
    CALLBACKS.labels(outcome=_outcome)

tracer: Tracer | None = None
# What each line of the log says of the request under way; None outside of one.
request_fields: ContextVar[dict[str, str] | None] = ContextVar("request_fields", default=None)


def note(**identifiers: str) -> None:
    """Add identifiers, never content, to the log lines of the request under way and to its span."""
    if (fields := request_fields.get()) is not None:
        fields.update(identifiers)
    if tracer is not None:
        get_current_span().set_attributes(ours(identifiers))


def ours(fields: Attributes) -> dict[str, str | int]:
    """Fields of the log as attributes, which have the same names behind ``gateway.``."""
    return {f"gateway.{name}": value for name, value in fields.items()}


@contextmanager
def span(
    name: str, kind: SpanKind, attributes: Attributes, parent: Context | None = None
) -> Iterator[Span]:
    """A span of the work inside it. Of an exception it tells the class only: its text may hold secrets."""
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
    """Count one message that the network was asked to take; ``error`` is None when it did."""
    outcome = "accepted" if error is None else SEND_FAILURES.get(type(error), "number")
    SENDS.labels(outcome=outcome).inc()

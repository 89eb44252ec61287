"""The spans of tasks.spans as OpenTelemetry's, sent over OTLP/HTTP. Needs the extra ``otel``.

Configured by OpenTelemetry's own environment variables, which its SDK reads.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gateway import __version__
from tasks import spans

# What of a stop's grace may go to the last batch: the collector may be down.
FLUSH_SECONDS = 1.0
KINDS = {
    spans.Kind.SERVER: trace.SpanKind.SERVER,
    spans.Kind.CLIENT: trace.SpanKind.CLIENT,
    spans.Kind.CONSUMER: trace.SpanKind.CONSUMER,
}
# Its tracestate is left behind: what stands in it is the client's.
_INCOMING = TraceContextTextMapPropagator()


class _Span:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, attributes: spans.Attributes, *, failed: bool = False) -> None:
        self._span.set_attributes(_known(attributes))
        if failed:
            self._span.set_status(trace.StatusCode.ERROR)


def sending() -> SpanProcessor:
    """Sends spans to the collector, in batches and from a thread of its own."""
    return BatchSpanProcessor(OTLPSpanExporter())


class OtelTracer:
    """Gathers the spans of a part, and hands them to ``processor``."""

    def __init__(self, part: str, processor: SpanProcessor) -> None:
        # One name for all parts where the operator chose one.
        name = os.environ.get("OTEL_SERVICE_NAME") or f"gateway-{part}"
        resource = Resource.create({"service.name": name, "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("gateway", __version__)

    @contextmanager
    def span(
        self, name: str, kind: spans.Kind, attributes: spans.Attributes, parent: str | None
    ) -> Iterator[spans.Span]:
        """See tasks.spans.Tracer. Of an exception only the class is told: its text is not ours."""
        with self._tracer.start_as_current_span(
            name,
            context=_INCOMING.extract({"traceparent": parent}) if parent else None,
            kind=KINDS[kind],
            attributes=_known(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as begun:
            shown = _Span(begun)
            try:
                yield shown
            except Exception as error:
                shown.note({"error.type": type(error).__name__}, failed=True)
                raise

    def annotate(self, attributes: spans.Attributes) -> None:
        """See tasks.spans.Tracer."""
        trace.get_current_span().set_attributes(_known(attributes))

    def close(self) -> None:
        """Send what is left, for at most FLUSH_SECONDS."""
        # The SDK has no bound of its own on a collector that does not answer.
        flush = threading.Thread(target=self._provider.shutdown, name="flush-spans", daemon=True)
        flush.start()
        flush.join(FLUSH_SECONDS)


def _known(attributes: spans.Attributes) -> dict[str, str | int]:
    return {name: value for name, value in attributes.items() if value is not None}

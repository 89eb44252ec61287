"""The spans of this process, gathered while a test runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tasks import telemetry


@contextmanager
def gathered() -> Iterator[InMemorySpanExporter]:
    """Where the finished spans are."""
    finished = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(finished))
    with patch.object(telemetry, "tracer", provider.get_tracer("test")):
        yield finished
    provider.shutdown()

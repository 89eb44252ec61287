"""The spans of this process, collected while a test runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from services import telemetry


@contextmanager
def gathered() -> Iterator[InMemorySpanExporter]:
    """The exporter with the finished spans."""
    finished = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(finished))
    with patch.object(telemetry, "tracer", provider.get_tracer("test")):
        yield finished
    provider.shutdown()

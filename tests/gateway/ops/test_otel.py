"""What a span says of the work inside it, and of its end."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.ops.otel import OtelTracer
from tasks import spans
from tasks.spans import Kind

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def shown() -> Iterator[InMemorySpanExporter]:
    """The finished spans of this process, while it is traced."""
    finished = InMemorySpanExporter()
    tracer = OtelTracer("test", SimpleSpanProcessor(finished))
    spans.use(tracer)
    yield finished
    spans.use(spans.UNSEEN)
    tracer.close()


def test_of_an_exception_only_the_class_is_told(shown: InMemorySpanExporter) -> None:
    with (
        pytest.raises(ValueError, match="15551234567"),
        spans.span("work", Kind.CLIENT, {"gateway.attempt": 1, "gateway.account_id": None}),
    ):
        raise ValueError("no message to 15551234567")
    [span] = shown.get_finished_spans()
    assert span.attributes == {"gateway.attempt": 1, "error.type": "ValueError"}
    assert (span.status.is_ok, span.status.description, span.events) == (False, None, ())


def test_what_turns_out_later_is_added_and_a_failure_marked(shown: InMemorySpanExporter) -> None:
    with spans.span("work", Kind.SERVER, {}) as span:
        spans.annotate({"gateway.message_id": "msg_1"})
        span.note({"http.response.status_code": 500}, failed=True)
    [done] = shown.get_finished_spans()
    assert done.attributes == {"gateway.message_id": "msg_1", "http.response.status_code": 500}
    assert not done.status.is_ok


def test_a_span_inside_another_is_below_it(shown: InMemorySpanExporter) -> None:
    with spans.span("outer", Kind.SERVER, {}, PARENT), spans.span("inner", Kind.CLIENT, {}):
        pass
    inner, outer = shown.get_finished_spans()
    assert inner.parent is not None
    assert outer.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert outer.parent.span_id == 0x00F067AA0BA902B7


@pytest.mark.parametrize("parent", ["", "nonsense", "00-0-0-01", "ÿ" * 5_000])
def test_a_traceparent_that_is_none_begins_a_trace(
    shown: InMemorySpanExporter, parent: str
) -> None:
    with spans.span("work", Kind.SERVER, {}, parent):
        pass
    [span] = shown.get_finished_spans()
    assert span.parent is None


def test_a_process_that_is_not_traced_gathers_nothing() -> None:
    assert not spans.are_gathered()
    with spans.span("work", Kind.SERVER, {"gateway.attempt": 1}) as span:
        span.note({"gateway.outcome": "success"}, failed=True)
        spans.annotate({"gateway.outcome": "success"})

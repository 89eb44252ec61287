"""Spans and log lines of a request: their fields, and the outcome of the work."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from services import telemetry
from tests.spans import gathered


@pytest.fixture
def shown() -> Iterator[InMemorySpanExporter]:
    with gathered() as finished:
        yield finished


@pytest.fixture
def fields() -> Iterator[dict[str, str]]:
    """The fields of the current request's log lines."""
    token = telemetry.request_fields.set(noted := {"request_id": "req_1"})
    yield noted
    telemetry.request_fields.reset(token)


def test_only_the_class_of_an_exception_is_recorded(shown: InMemorySpanExporter) -> None:
    with (
        pytest.raises(ValueError, match="15551234567"),
        telemetry.span("work", SpanKind.CLIENT, {"gateway.attempt": 1}),
    ):
        raise ValueError("no message to 15551234567")
    [span] = shown.get_finished_spans()
    assert span.attributes == {"gateway.attempt": 1, "error.type": "ValueError"}
    assert (span.status.is_ok, span.status.description, span.events) == (False, None, ())


def test_a_span_inside_another_is_below_it(shown: InMemorySpanExporter) -> None:
    with (
        telemetry.span("outer", SpanKind.SERVER, {}),
        telemetry.span("inner", SpanKind.CLIENT, {}),
    ):
        pass
    inner, outer = shown.get_finished_spans()
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


def test_what_is_noted_is_in_the_log_lines_and_in_the_span(
    shown: InMemorySpanExporter, fields: dict[str, str]
) -> None:
    with telemetry.span("work", SpanKind.SERVER, {}):
        telemetry.note(message_id="msg_1")
    [span] = shown.get_finished_spans()
    assert span.attributes == {"gateway.message_id": "msg_1"}
    assert fields == {"request_id": "req_1", "message_id": "msg_1"}


def test_outside_of_a_request_and_without_a_collector_nothing_is_kept() -> None:
    with telemetry.span("work", SpanKind.SERVER, {}) as span:
        telemetry.note(message_id="msg_1")
    assert not span.is_recording()
    assert telemetry.request_fields.get() is None

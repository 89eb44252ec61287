"""A trace collector on loopback: parses what a gateway sends over OTLP/HTTP."""

import gzip
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from contract_tests.harness import WAIT_SECONDS, wait_for


@dataclass(frozen=True)
class Shown:
    """One span. Identifiers are hexadecimal, ``parent`` is empty for a root."""

    service: str
    name: str
    kind: str
    trace: str
    id: str
    parent: str
    failed: bool
    attributes: dict[str, Any]


class Collector:
    """Stores the received spans."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[bytes] = []

    def settings(self) -> dict[str, str]:
        """The environment of a gateway that sends its spans here after a short delay."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def spans(self, name: str, **attributes: Any) -> list[Shown]:
        """The spans of that name with these attributes. In attribute names ``__`` stands for a dot."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}
        came = (span for body in list(self.bodies) for span in _parsed(body))
        return [s for s in came if s.name == name and s.attributes.items() >= wanted.items()]

    def wait(self, name: str, **attributes: Any) -> Shown:
        """Wait for a matching span, and return the first."""
        what = f"a span {name} {attributes}"
        return wait_for(lambda: self.spans(name, **attributes), what, WAIT_SECONDS)[0]


def _parsed(body: bytes) -> Iterator[Shown]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        about = {a.key: a.value.string_value for a in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Shown(
                    about["service.name"],
                    span.name,
                    Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.status.code == Status.STATUS_CODE_ERROR,
                    {a.key: a.value.string_value or a.value.int_value for a in span.attributes},
                )


@contextmanager
def collecting() -> Iterator[Collector]:
    """A running collector."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            collector.bodies.append(gzip.decompress(body) if is_packed else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    serve = server.serve_forever
    threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()

"""OpenTelemetry's SDK, where an operator names a collector (docs/decisions/0026-traces-are-an-extra.md).

Its own variables configure it. Without an endpoint nothing of it is imported, and spans do nothing.
"""

import os
import threading

from opentelemetry import trace

from gateway import __version__
from gateway.settings import SettingsError

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
# What of a stop's grace may go to the last batch: the collector may be down.
FLUSH_SECONDS = 1.0


def check() -> bool:
    """Whether a collector is named. Raises SettingsError when the extra that speaks to it is missing."""
    variable = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if variable is None:
        return False
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter  # noqa: F401, PLC0415 - an extra
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise SettingsError(
            f"{variable} is set, but traces need the extra: pip install 'messaging-gateway[otel]'"
        ) from None
    return True


def start(part: str) -> None:
    """Trace this process, the web or the worker, if a collector is named. Raises SettingsError."""
    if not check():
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - as above
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    # One name for all parts where the operator chose one.
    name = os.environ.get("OTEL_SERVICE_NAME") or f"gateway-{part}"
    resource = Resource.create({"service.name": name, "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def stop() -> None:
    """Send what was gathered, for at most FLUSH_SECONDS. Doing it again does nothing."""
    # The API's own provider has nothing to send, and the SDK's waits for a collector as long as that takes.
    shutdown = getattr(trace.get_tracer_provider(), "shutdown", None)
    if shutdown is not None:
        flush = threading.Thread(target=shutdown, name="flush-spans", daemon=True)
        flush.start()
        flush.join(FLUSH_SECONDS)

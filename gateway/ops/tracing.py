"""Sets up OpenTelemetry's SDK if an operator names a collector.

OpenTelemetry's own variables configure it. Without a collector it is not imported, and spans do nothing
(docs/decisions/0022-what-an-operator-sees.md).
"""

import os
import threading
from typing import Any

from opentelemetry import trace

from gateway import __version__
from gateway.settings import SettingsError
from services import telemetry

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
# Seconds that a stop waits for the last batch at most: the collector may be down.
FLUSH_SECONDS = 1.0


def check() -> Any:
    """The class of the exporter, None if no collector is named. Raises SettingsError without the extra."""
    variable = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if variable is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http import trace_exporter  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise SettingsError(
            f"{variable} is set, but traces need the extra: pip install 'messaging-gateway[otel]'"
        ) from None
    return trace_exporter.OTLPSpanExporter


def start(part: str) -> None:
    """Trace this process, a web or a worker, if a collector is named. Raises SettingsError."""
    if (exporter := check()) is None:
        return
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    name = os.environ.get("OTEL_SERVICE_NAME") or f"gateway-{part}"
    resource = Resource.create({"service.name": name, "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter()))
    trace.set_tracer_provider(provider)
    telemetry.tracer = provider.get_tracer("gateway")


def stop() -> None:
    """Send the last batch, for at most FLUSH_SECONDS. A second call does nothing."""
    # Only the SDK's provider has a shutdown, which waits for the collector without a limit.
    shutdown = getattr(trace.get_tracer_provider(), "shutdown", None)
    if shutdown is not None:
        flush = threading.Thread(target=shutdown, name="flush-spans", daemon=True)
        flush.start()
        flush.join(FLUSH_SECONDS)

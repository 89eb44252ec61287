"""/metrics: what this process counted, and what the database and queue say at the moment of asking."""

from collections.abc import Iterator

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from models.backlog import Backlog
from models.heartbeat import Heartbeat
from models.set_aside import SetAside
from tasks.queue import huey

blueprint = Blueprint("metrics", __name__)

REQUESTS = Counter("gateway_requests", "Requests answered, probes apart", ["status"])
RATE_LIMITED = Counter(
    "gateway_rate_limited", "Requests past the limit of their account or address"
)


class StateCollector(Collector):
    """Gauges that every web process reads alike, whatever it did itself."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Read them now: three counts, each of one index."""
        backlog, last = Backlog.read(), Heartbeat.last()
        yield _gauge("deliveries_pending", "Deliveries not at their end yet", backlog.pending)
        yield _gauge("deliveries_due", "Deliveries that could be attempted now", backlog.due)
        yield _gauge(
            "oldest_due_seconds", "Age of the delivery due for longest", backlog.oldest_due_seconds
        )
        yield _gauge("queue_tasks", "Tasks in the queue", huey.pending_count())
        # Nought, long ago, when there never was one.
        seen = "When a worker was last seen, in Unix time"
        yield _gauge("worker_last_seen_timestamp_seconds", seen, (last or 0) / 1000)
        aside = GaugeMetricFamily(
            "gateway_set_aside", "Items of callbacks set aside, by why", labels=["reason"]
        )
        for reason, count in SetAside.counts().items():
            aside.add_metric([reason], count)
        yield aside


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gateway_{name}", text, value=value)


@blueprint.get("/metrics")
def metrics() -> Response:
    """Prometheus' text format. Names no account, number or message, but is for operators only."""
    state = CollectorRegistry()
    state.register(StateCollector())
    text = generate_latest(REGISTRY) + generate_latest(state)
    return Response(text, content_type=CONTENT_TYPE_LATEST)

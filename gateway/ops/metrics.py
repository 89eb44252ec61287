"""/metrics: what the web part counted, and what the database and queue say at the moment of asking.

Of several web processes at one port a scrape reaches any. So they count in files that they share, which is
prometheus_client's multiprocess mode, and each shows the sum of all.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from gateway.state import REFUSALS, usable
from models.backlog import Backlog
from models.heartbeat import Heartbeat
from models.set_aside import SetAside
from tasks.queue import huey

blueprint = Blueprint("metrics", __name__)

# Where prometheus_client counts in files. It looks when it is imported.
SHARED = "PROMETHEUS_MULTIPROC_DIR"

REQUESTS = Counter("gateway_requests", "Requests answered, probes apart", ["status"])
RATE_LIMITED = Counter(
    "gateway_rate_limited", "Requests past the limit of their account or address"
)


def share(folder: Path) -> None:
    """Have the processes that this one starts from now on count together, from nought, in ``folder``.

    It is one in DATA_DIR. Raises SettingsError when it cannot be made.
    """
    with usable("DATA_DIR"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    os.environ[SHARED] = str(folder)


class StateCollector(Collector):
    """Gauges that every web process reads alike, whatever it did itself."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Read them now: three counts, each of one index. A place that does not answer has none."""
        for read in (_deliveries, _queue, _worker, _set_aside):
            with suppress(*REFUSALS):
                yield from read()


def _deliveries() -> Iterator[GaugeMetricFamily]:
    backlog = Backlog.read()
    yield _gauge("deliveries_pending", "Deliveries not at their end yet", backlog.pending)
    yield _gauge("deliveries_due", "Deliveries that could be attempted now", backlog.due)
    yield _gauge(
        "oldest_due_seconds", "Age of the delivery due for longest", backlog.oldest_due_seconds
    )


def _queue() -> Iterator[GaugeMetricFamily]:
    yield _gauge("queue_tasks", "Tasks in the queue", huey.pending_count())


def _worker() -> Iterator[GaugeMetricFamily]:
    # Nought, long ago, when there never was one.
    seen = "When a worker was last seen, in Unix time"
    yield _gauge("worker_last_seen_timestamp_seconds", seen, (Heartbeat.last() or 0) / 1000)


def _set_aside() -> Iterator[GaugeMetricFamily]:
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
    shown = CollectorRegistry()
    if SHARED in os.environ:
        MultiProcessCollector(shown)  # type: ignore[no-untyped-call]
    else:
        shown.register(REGISTRY)
    shown.register(StateCollector())
    return Response(generate_latest(shown), content_type=CONTENT_TYPE_LATEST)

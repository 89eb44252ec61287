"""/metrics: what the web processes counted, and the state of database and queue at the time of the scrape.

Web processes share one port, so a scrape reaches any of them. They count in shared files, which is
prometheus_client's multiprocess mode, and each shows the sum of all.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from gateway.storage import REFUSALS, usable
from models import clock
from models.clock import wall_clock
from models.database.heartbeat import Heartbeat
from models.deliveries.backlog import Backlog
from models.messages.callback import SetAside
from models.numbers.number import Number
from tasks.queue import huey

blueprint = Blueprint("metrics", __name__)

# The folder of prometheus_client's shared files, read when it is imported.
SHARED = "PROMETHEUS_MULTIPROC_DIR"

REQUESTS = Counter("gateway_requests", "Requests answered, without probes", ["status"])
RATE_LIMITED = Counter(
    "gateway_rate_limited", "Requests above the limit of their account or address"
)

REQUEST_LOG_DROPPED = Counter(
    "gateway_request_log_dropped", "Requests that the API request log left out"
)


def share(folder: Path) -> None:
    """Make processes started from now on share their counts in ``folder``, which is emptied.

    ``folder`` is in DATA_DIR. Raises SettingsError when it cannot be made.
    """
    with usable("DATA_DIR"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    os.environ[SHARED] = str(folder)


class StateCollector(Collector):
    """Gauges that are the same in every web process."""

    def collect(self) -> Iterator[Gauge]:
        """Read each by one indexed query. Unreadable values are left out."""
        for read in (_deliveries, _queue, _worker, _set_aside, _numbers, _clock):
            with suppress(*REFUSALS):
                yield from read()


def _deliveries() -> Iterator[Gauge]:
    backlog = Backlog.read()
    yield Gauge("gateway_deliveries_pending", "Deliveries that have not ended", backlog.pending)
    yield Gauge("gateway_deliveries_due", "Deliveries that could be attempted now", backlog.due)
    age = backlog.oldest_due_seconds
    yield Gauge("gateway_oldest_due_seconds", "Age of the longest overdue delivery", age)


def _queue() -> Iterator[Gauge]:
    yield Gauge("gateway_queue_tasks", "Tasks in the queue", huey.pending_count())


def _worker() -> Iterator[Gauge]:
    # 0 when no worker was ever seen.
    at = (Heartbeat.last() or 0) / 1000
    text = "When a worker was last seen, in Unix time"
    yield Gauge("gateway_worker_last_seen_timestamp_seconds", text, at)


def _set_aside() -> Iterator[Gauge]:
    aside = Gauge("gateway_set_aside", "Items of callbacks set aside, by reason", labels=["reason"])
    for reason, count in SetAside.counts().items():
        aside.add_metric([reason], count)
    yield aside


def _numbers() -> Iterator[Gauge]:
    text = "Active numbers whose callbacks have this problem"
    found = Gauge("gateway_number_problems", text, labels=["code"])
    for code, count in Number.problem_counts().items():
        found.add_metric([code], count)
    yield found


def _clock() -> Iterator[Gauge]:
    text = "1 if the clock of this machine may delete, 0 after a jump"
    yield Gauge("gateway_clock_confirmed", text, int(clock.is_confirmed()))
    ahead = 0 if clock.is_confirmed() else wall_clock.ahead / 1000
    yield Gauge("gateway_clock_ahead_seconds", "How far the clock jumped", ahead)


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

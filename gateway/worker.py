"""The worker: the delivery engine, the sweep, and the consumer of the queue, in one process."""

import gc
import logging
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from wsgiref.simple_server import WSGIRequestHandler

from prometheus_client import start_http_server

from gateway.http.client_limits import notice_vanished
from gateway.ops.rounds import Rounds
from gateway.ops.watchdog import STOPPING, Watchdog, report_state
from gateway.settings import PREFIX, Settings, SettingsError
from gateway.storage import leave_state
from models import database
from models.database import known_time
from models.deliveries.other_workers import BEAT_SECONDS, OtherWorkers
from services import (
    erasing,
    mailing,
    notify,
    number_checks,
    opt_out_answers,
    redeliver,
    template_copy,
)
from services.webhooks import make_client, outgoing_limits
from tasks import broadcasts, deliver, indexing, ingest, queue, sweep
from tasks.queue import huey
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

# Seconds until the queue is asked again after a failure, or if it does not wait for a task itself.
RETRY_SECONDS = 0.5
# Seconds between two polls for due work: deliveries and callbacks, and checks of numbers. A poll costs
# one query.
LOOK_SECONDS, CHECK_LOOK_SECONDS = 0.5, 1.0
# Seconds that a stop may take beyond the longest attempt or call.
STOP_SECONDS = 8
# A client of the metrics that vanished, or is silent, is forgotten after so many seconds.
VANISHED_SECONDS = 30
# Seconds between two looks for a signal. One that comes just before a wait does not end that wait.
SIGNAL_SECONDS = 0.5
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run_task() -> bool:
    """Run a task of the queue. It only wakes a part of this worker.

    Returns False if the queue is empty and does not wait for a task itself: PostgreSQL behind a pooler.
    """
    task = huey.dequeue()
    if task is not None:
        huey.execute(task)
    return task is not None or bool(huey.storage.blocking)


class _MetricsHandler(WSGIRequestHandler):
    """Closes the connection of a client that is silent. It would hold its thread for ever."""

    timeout = VANISHED_SECONDS

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def handle(self) -> None:
        with suppress(TimeoutError, ConnectionError):
            super().handle()


def _serve_metrics(at: str) -> None:
    """Serve this worker's metrics at ``host:port`` or ``[IPv6]:port``. Raises SettingsError if it cannot."""
    host, _, port = at.rpartition(":")
    try:
        server, _ = start_http_server(int(port), host.strip("[]"))
        server.RequestHandlerClass = _MetricsHandler
        # Linux gives the options of a listening socket to the connections.
        notice_vanished(server.socket, VANISHED_SECONDS)
    except (OSError, OverflowError) as error:
        raise SettingsError(f"{PREFIX}WORKER_METRICS_AT cannot be used: {error}") from None


def make_engine(settings: Settings) -> deliver.Engine:
    """The delivery engine of a worker with these settings. It is not started."""
    return deliver.Engine(
        make_client(),
        RetrySchedule(settings.retry_schedule),
        settings.delivery_timeout,
        settings.deactivate_after,
        outgoing_limits(),
        deactivate_when_gone=settings.deactivate_when_gone,
    )


def run_worker(settings: Settings) -> None:
    """Work until SIGTERM, SIGINT or SIGHUP, then finish the running attempts.

    A second signal changes nothing: an attempt without a record would be repeated.
    """
    if settings.worker_metrics_at:
        _serve_metrics(settings.worker_metrics_at)
    engine, sender = make_engine(settings), broadcasts.Engine()
    rounds = [
        Rounds(sweep.sweep, settings.sweep_interval),
        # Polls find the work if the queue is unreachable or lost the wake-up.
        Rounds(engine.look, LOOK_SECONDS),
        Rounds(sender.look, LOOK_SECONDS),
        Rounds(OtherWorkers(engine.worker).look, BEAT_SECONDS),
        Rounds(ingest.work_off, LOOK_SECONDS, queue.callbacks),
        Rounds(redeliver.work_off, settings.sweep_interval, queue.redeliveries),
        Rounds(erasing.work_off, settings.sweep_interval, queue.erasures),
        Rounds(number_checks.check_due, CHECK_LOOK_SECONDS, patience=3 * settings.network_timeout),
        Rounds(known_time.look, known_time.LOOK_SECONDS),
        Rounds(indexing.work_off, settings.sweep_interval),
        # Such a round may take as long as its lease.
        Rounds(
            template_copy.read_due,
            settings.sweep_interval,
            patience=template_copy.LEASE_MS / 1000,
        ),
        Rounds(notify.look, settings.sweep_interval, patience=notify.LEASE_MS / 1000),
        Rounds(mailing.send_due, settings.sweep_interval, patience=mailing.LEASE_MS / 1000),
        Rounds(
            opt_out_answers.send_due,
            settings.sweep_interval,
            patience=opt_out_answers.LEASE_MS / 1000,
        ),
    ]
    consumer = Rounds(run_task, RETRY_SECONDS)
    consumer.name = "the consumer of the queue"
    rounds.append(consumer)
    engines: dict[str, deliver.Engine | broadcasts.Engine]
    engines = {"delivery engine": engine, "broadcast engine": sender}
    watchdog = _watchdog(settings, engines, rounds)
    # Not an event, whose lock a signal's handler could wait for in its own thread.
    signals = SimpleQueue[int]()
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, _frame: signals.put(number))
    # Start-up objects are permanent. Collecting them repeatedly cost a sixth of a busy worker's time.
    gc.freeze()
    watchdog.start()
    try:
        engine.start()
        sender.start()
        for each in rounds:
            each.start()
        _wait_for(signals)
    finally:
        engine.stop_claiming()
        sender.stop_claiming()
        logger.info("the worker stops; running attempts finish")
        report_state(STOPPING)
        watchdog.end_within(max(settings.delivery_timeout, settings.network_timeout) + STOP_SECONDS)
        for each in rounds:
            each.stop()
        sender.stop()
        engine.stop()
        leave_state()


def _wait_for(signals: SimpleQueue[int]) -> None:
    while True:
        with suppress(Empty):
            signals.get(timeout=SIGNAL_SECONDS)
            return


def _watchdog(
    settings: Settings,
    engines: Mapping[str, deliver.Engine | broadcasts.Engine],
    rounds: Sequence[Rounds],
) -> Watchdog:
    """Watches everything in which a worker can hang. ``engines`` are by their names."""
    watchdog = Watchdog(settings.watchdog_seconds)
    for name, engine in engines.items():
        watchdog.watch_loop(f"the {name}", engine.loop)
        watchdog.watch(f"the queries of the {name}", engine.queries.since)
    watchdog.watch("the writer of the database", database.commits.since)
    for each in rounds:
        watchdog.watch(each.name, each.busy_since, each.patience)
    return watchdog

"""The worker: Huey's consumer, the delivery engine and the sweep, in one process."""

import gc
import logging
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from types import FrameType
from wsgiref.simple_server import WSGIRequestHandler

from huey.consumer import Consumer, ConsumerStopped
from huey.consumer import Worker as HueyWorker
from prometheus_client import start_http_server

from gateway.http.vanished import notice_vanished
from gateway.ops import systemd
from gateway.ops.watchdog import Watchdog
from gateway.settings import PREFIX, Settings, SettingsError
from gateway.storage import leave_state
from models import database
from models.database import known_time
from services import erasing, notify, number_status, redeliver, template_copy
from services.webhook_client import make_client
from tasks import bells, deliver, indexing, ingest, sweep
from tasks.queue import Doorbell, huey
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

# A consumer waits for its queue, and sleeps only after a failure.
RETRY_SECONDS = 0.5
# Seconds between two polls for due work: deliveries and callbacks, and checks of numbers. A poll costs
# one query.
LOOK_SECONDS, CHECK_LOOK_SECONDS = 0.5, 1.0
# The longest that Huey's threads may take to end. They hold no work.
QUEUE_STOP_SECONDS = 5
# Seconds that a stop may take beyond the longest attempt or call.
STOP_SECONDS = 8
# After so many seconds a client of the metrics that vanished, or is silent, is forgotten.
VANISHED_SECONDS = 30
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Rounds(threading.Thread):
    """Runs ``work`` at once, then each time ``bell`` is set, and at least every ``interval`` seconds.

    An error ends only its round. ``patience`` is the longest time in seconds that a round may take without
    using the database, in addition to the watchdog's.
    """

    def __init__(
        self,
        work: Callable[[], None],
        interval: float,
        bell: Doorbell | None = None,
        patience: float = 0,
    ) -> None:
        super().__init__(name=work.__module__, daemon=True)
        self.patience = patience
        self._work = work
        self._began_at: float | None = None
        self._interval = interval
        self._woken = threading.Event()
        self._stopping = False
        if bell is not None:
            bell.worker = self._woken.set

    def run(self) -> None:
        """Work until ``stop``."""
        while True:
            # Clear first: work that is committed after this line sets it again.
            self._woken.clear()
            if self._stopping:
                return
            self._began_at = time.monotonic()
            try:
                self._work()
            except Exception:
                logger.exception("%s failed; it is tried again", self.name)
            self._began_at = None
            self._woken.wait(self._interval)

    def busy_since(self) -> float | None:
        """When the running round last used the database, or began. None between two rounds."""
        began_at = self._began_at
        return began_at and max(began_at, database.last_progress(self.ident or 0))

    def stop(self) -> None:
        """End after the current round. Does nothing if it never started."""
        self._stopping = True
        self._woken.set()
        if self.is_alive():
            self.join()


class WatchedWorker(HueyWorker):
    """Huey's worker, which says since when it has been at one task, or waiting for one."""

    busy_since: float | None = None

    def loop(self, now: datetime | None = None) -> None:
        """Wait for a task, and run it."""
        type(self).busy_since = time.monotonic()
        super().loop(now)

    def shutdown(self) -> None:
        """End the thread."""
        type(self).busy_since = None
        super().shutdown()


class StoppingConsumer(Consumer):
    """Huey's consumer, with the engine and the polls for work without a wake-up.

    At SIGTERM the engine stops claiming, then tasks and polls finish.
    """

    worker_class = WatchedWorker

    def __init__(self, engine: deliver.Engine, rounds: Sequence[Rounds], **options: object) -> None:
        super().__init__(huey, **options)
        self._engine = engine
        self._rounds = rounds
        self._is_asked_to_stop = False

    def start(self) -> None:
        """Start all threads. A signal that arrives meanwhile stops them once they run.

        Huey sets its signal handlers after its threads have started. Until then a SIGTERM would end the
        process at once, between an attempt and its record. Huey's handlers would do so at a second SIGTERM,
        and at SIGHUP.
        """
        self._handle_signals()
        self._engine.start()
        for each in self._rounds:
            each.start()
        super().start()
        self._handle_signals()

    def _handle_signals(self) -> None:
        def note(_number: int, _frame: FrameType | None) -> None:
            self._is_asked_to_stop = True

        for number in STOP_SIGNALS:
            signal.signal(number, note)

    def loop(self, health_check_ts: float | None = None) -> float | None:
        """Wait a moment. Raises ConsumerStopped after a signal."""
        if self._is_asked_to_stop:
            self.stop(graceful=True)
            raise ConsumerStopped
        checked_at: float | None = super().loop(health_check_ts)
        return checked_at

    def stop(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002 - Huey's signature
        """Stop claiming, then stop. Running attempts finish."""
        self._engine.stop_claiming()
        super().stop(graceful=graceful)


class _MetricsHandler(WSGIRequestHandler):
    """Closes the connection of a client that is silent. Otherwise it would hold its thread for ever."""

    timeout = VANISHED_SECONDS

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def handle(self) -> None:
        """Answer one request."""
        with suppress(TimeoutError):
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


def run_worker(settings: Settings) -> None:
    """Work until SIGTERM, SIGINT or SIGHUP, then finish the running attempts.

    A second signal changes nothing: an attempt without a record would be repeated.
    """
    if settings.worker_metrics_at:
        _serve_metrics(settings.worker_metrics_at)
    engine = deliver.Engine(
        make_client(),
        RetrySchedule(settings.retry_schedule),
        settings.delivery_timeout,
        settings.deactivate_after,
    )
    rounds = [
        Rounds(sweep.sweep, settings.sweep_interval),
        # Polls find the work if the queue is unreachable or lost the wake-up.
        Rounds(engine.look, LOOK_SECONDS),
        Rounds(ingest.work_off, LOOK_SECONDS, bells.callbacks),
        Rounds(redeliver.work_off, settings.sweep_interval, bells.redeliveries),
        Rounds(erasing.work_off, settings.sweep_interval, bells.erasures),
        Rounds(number_status.check_due, CHECK_LOOK_SECONDS, patience=2 * settings.network_timeout),
        Rounds(known_time.look, known_time.LOOK_SECONDS),
        Rounds(indexing.work_off, settings.sweep_interval),
        # Such a round may take as long as its lease.
        Rounds(
            template_copy.read_due,
            settings.sweep_interval,
            patience=template_copy.LEASE_MS / 1000,
        ),
        Rounds(notify.look, settings.sweep_interval, patience=notify.LEASE_MS / 1000),
    ]
    consumer = StoppingConsumer(
        engine,
        rounds,
        # A task only wakes one of the threads above.
        workers=1,
        initial_delay=RETRY_SECONDS,
        max_delay=RETRY_SECONDS,
        # Nothing is scheduled in the queue.
        scheduler_interval=60,
        shutdown_timeout=QUEUE_STOP_SECONDS,
    )
    watchdog = _watchdog(settings, engine, rounds)
    # Start-up objects are permanent. Collecting them repeatedly cost a sixth of a busy worker's time.
    gc.freeze()
    watchdog.start()
    try:
        consumer.run()
    finally:
        logger.info("the worker stops; running attempts finish")
        systemd.report(systemd.STOPPING)
        watchdog.end_within(max(settings.delivery_timeout, settings.network_timeout) + STOP_SECONDS)
        for each in rounds:
            each.stop()
        engine.stop()
        leave_state()


def _watchdog(settings: Settings, engine: deliver.Engine, rounds: Sequence[Rounds]) -> Watchdog:
    """Watches everything in which a worker can hang."""
    watchdog = Watchdog(settings.watchdog_seconds)
    watchdog.watch_loop("the delivery engine", engine.loop)
    watchdog.watch("the queries of the delivery engine", engine.queries.since)
    watchdog.watch("the consumer of the queue", lambda: WatchedWorker.busy_since)
    watchdog.watch("the writer of the database", database.commits.since)
    for each in rounds:
        watchdog.watch(each.name, each.busy_since, each.patience)
    return watchdog

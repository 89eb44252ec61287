"""The worker: Huey's consumer, the delivery engine and the sweep in one process."""

import gc
import logging
import signal
import threading

from huey.consumer import Consumer
from prometheus_client import start_http_server

from gateway.settings import PREFIX, Settings, SettingsError
from tasks import (
    checks,
    deliver,
    ingest,
    redeliver,
    sweep,
)  # every task module, so that the consumer knows their tasks
from tasks.queue import huey
from tasks.sender import make_client
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

CONSUMER_THREADS = 4
# Huey's defaults let an idle consumer sleep for up to 10 s.
POLL_SECONDS = 0.02
MAX_POLL_SECONDS = 0.05
# A queue that says when it has a task is never polled: its consumer rests only after a failure.
RETRY_SECONDS = 0.5
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
TASK_MODULES = (checks, deliver, ingest, redeliver, sweep)


class Sweeper:
    """Runs the sweep at once and then every ``interval`` seconds, on a thread of its own."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            sweep.sweep()
            if self._stop.wait(self._interval):
                return


class StoppingConsumer(Consumer):
    """Huey's consumer, with engine and sweep.

    At SIGTERM the engine stops claiming before tasks and sweep are waited for.
    """

    def __init__(self, engine: deliver.Engine, sweeper: Sweeper, **options: object) -> None:
        super().__init__(huey, **options)
        self._engine = engine
        self._sweeper = sweeper

    def start(self) -> None:
        """Start all threads. A signal that comes meanwhile stops them in order, once they run.

        Huey listens to signals after its threads have started. Until then a SIGTERM would end the
        process at once, between an attempt and its record.
        """
        early: list[int] = []
        for number in STOP_SIGNALS:
            signal.signal(number, lambda came, _frame: early.append(came))
        self._engine.start()
        self._sweeper.start()
        super().start()
        if early:
            signal.raise_signal(early[0])

    def stop(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002 - Huey's signature
        """Stop: the attempts under way finish in the meantime."""
        self._engine.stop_claiming()
        super().stop(graceful=graceful)


def _serve_metrics(at: str) -> None:
    """Serve this worker's metrics at ``host:port``. Raises SettingsError when that is not to be had."""
    host, _, port = at.rpartition(":")
    try:
        start_http_server(int(port), host)
    except (OSError, OverflowError) as error:
        raise SettingsError(f"{PREFIX}WORKER_METRICS_AT cannot be used: {error}") from None


def run_worker(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; then finish the attempts under way."""
    if settings.worker_metrics_at:
        _serve_metrics(settings.worker_metrics_at)
    engine = deliver.Engine(
        deliver.EngineConfig(
            client=make_client(),
            schedule=RetrySchedule(settings.retry_schedule),
            delivery_timeout=settings.delivery_timeout,
            deactivate_after=settings.deactivate_after,
        )
    )
    sweeper = Sweeper(settings.sweep_interval)
    rests = (RETRY_SECONDS,) * 2 if huey.storage.blocking else (POLL_SECONDS, MAX_POLL_SECONDS)
    consumer = StoppingConsumer(
        engine,
        sweeper,
        workers=CONSUMER_THREADS,
        initial_delay=rests[0],
        max_delay=rests[1],
        scheduler_interval=1,
        # Tasks are short, so SIGTERM too lets them finish.
        graceful_signal="TERM",
    )
    # What start-up made stays: looking through it again and again cost a sixth of a busy worker's time.
    gc.freeze()
    try:
        consumer.run()
    finally:
        sweeper.stop()
        engine.stop()

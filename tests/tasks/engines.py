"""Engines with a schedule of milliseconds, and a client in trouble."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tasks import deliver
from webhooks.client import Answer, MayStart, WebhookClient
from webhooks.faults import DESCRIPTORS, MachineError
from webhooks.schedule import RetrySchedule

TIMEOUT = 10
DELAYS = (0.02, 0.02, 0.02)


def make_engine(deactivate_after: int = 10) -> deliver.Engine:
    """An engine that is not started."""
    client = WebhookClient(timeout=TIMEOUT, allow_local=True, user_agent="Gateway/1")
    return deliver.Engine(client, RetrySchedule(DELAYS), TIMEOUT, deactivate_after)


@contextmanager
def running(engine: deliver.Engine | None = None) -> Iterator[deliver.Engine]:
    """An engine that looks for due deliveries every few milliseconds."""
    engine = engine or make_engine()
    stopping = threading.Event()

    def keep_waking() -> None:
        while not stopping.wait(0.005):
            engine.look()

    alarm = threading.Thread(target=keep_waking)
    engine.start()
    alarm.start()
    try:
        yield engine
    finally:
        stopping.set()
        alarm.join()
        engine.stop()


class Troubled(WebhookClient):
    """Lacks descriptors for the first requests."""

    def __init__(self, failures: int) -> None:
        super().__init__(timeout=TIMEOUT, allow_local=True, user_agent="Gateway/1")
        self.failures = failures

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], may_start: MayStart | None = None
    ) -> Answer:
        """Send, or fail."""
        if self.failures:
            self.failures -= 1
            raise MachineError(DESCRIPTORS)
        return await super().post(url, body, headers, may_start)

"""Shared by the benchmarks: a separate database, a worker process, webhooks and events."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from huey.storage import MemoryStorage

from benchmarks.payload import event_body
from gateway.settings import get_settings
from gateway.storage import connect_state
from models import database
from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from tasks import queue

KIND = "message.received"
LAST_LINES = 20
ROWS_PER_TRANSACTION = 1000


@contextmanager
def gateway_state(**settings: str) -> Iterator[Path]:
    """A migrated database in a temporary folder, for this process and its workers."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"GATEWAY_DATA_DIR": folder, **settings}),
    ):
        get_settings.cache_clear()
        connect_state(get_settings())
        database.migrate()
        try:
            yield Path(folder)
        finally:
            get_settings.cache_clear()
            # The queue's server may end with this benchmark, and the process continues with the next one.
            queue.huey.storage.close()
            queue.huey.storage = MemoryStorage(queue.NAME)


@contextmanager
def worker(**settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process, with these settings in addition to those of the state.

    Its log goes to a file in the state's folder, as in production.
    """
    path = get_settings().data_dir / "worker.log"
    with path.open("ab") as log:
        command = [sys.executable, "-m", "gateway", "worker"]
        process = subprocess.Popen(command, env=os.environ | settings, stderr=log)
    try:
        yield process
    except Exception as error:
        # The folder is deleted, so the end of the worker's log is printed.
        error.add_note("\n".join(path.read_text().splitlines()[-LAST_LINES:]))
        raise
    finally:
        process.terminate()
        process.wait()


def make_webhooks(urls: list[str]) -> list[Webhook]:
    """One webhook for each URL, each in a separate account."""
    return [Webhook.register(Account.open("Bench", "pro").id, url, [KIND], []) for url in urls]


def emit(webhooks: Sequence[Webhook], name: str, *, wake: bool = True) -> None:
    """Commit one event of an account with a delivery to each webhook. Then wake the worker."""
    with writing():
        event = Event.append(
            webhooks[0].account_id,
            KIND,
            json.loads(event_body(name))["data"],
            number_id="num_bench",
            subject_id=name,
        )
        Delivery.schedule(event, webhooks)
    if wake:
        queue.deliveries.ring()


def emit_backlog(webhooks: list[Webhook], count: int) -> None:
    """Commit events for the webhooks in turns, without a wake-up."""
    for start in range(0, count, ROWS_PER_TRANSACTION):
        with writing():
            for number in range(start, min(start + ROWS_PER_TRANSACTION, count)):
                emit([webhooks[number % len(webhooks)]], f"msg_{number}", wake=False)


def percentile(values: list[float], share: float) -> float:
    """The value that is above this share of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def resident_mib(process: subprocess.Popen[bytes]) -> float:
    """The resident memory of a process, in MiB."""
    return _memory_mib(process, "VmRSS")


def peak_mib(process: subprocess.Popen[bytes]) -> float:
    """The most resident memory that a process has had, in MiB."""
    return _memory_mib(process, "VmHWM")


def _memory_mib(process: subprocess.Popen[bytes], name: str) -> float:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0


def sleep_until(moment: float) -> None:
    """Wait until time.monotonic() reaches ``moment``."""
    time.sleep(max(0.0, moment - time.monotonic()))

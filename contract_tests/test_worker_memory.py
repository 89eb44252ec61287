"""The memory of a worker stays within its budget while large events are due to many webhooks."""

import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from contract_tests.harness import WAIT_SECONDS, wait_for
from contract_tests.memory import BUDGET_KIB, memory_kib, peak_kib
from contract_tests.parts import Parts
from contract_tests.scripted_receiver import ScriptedReceiver

ACCOUNTS, WEBHOOKS, SIZE = 10, 20, 1 << 20
PENDING = "SELECT count(*) FROM delivery WHERE state = 'pending'"
WORKERS = "SELECT count(*) FROM heartbeat"


def _answer() -> Iterable[bytes]:
    # So the attempts overlap.
    threading.Event().wait(0.3)
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def test_large_events_to_many_webhooks_take_little_memory(tmp_path: Path) -> None:
    parts, receiver = Parts(tmp_path), ScriptedReceiver()
    parts.cli("migrate")
    try:
        worker = parts.start_worker()
        wait_for(lambda: parts.stored.rows(WORKERS) != [(0,)], "a worker", WAIT_SECONDS)
        before = memory_kib(worker.pid)
        amounts = [str(amount) for amount in (ACCOUNTS, WEBHOOKS, SIZE)]
        store = [sys.executable, "-m", "contract_tests.large_events", receiver.url("/", _answer)]
        subprocess.run([*store, *amounts], env=parts.environment, check=True, timeout=60)
        wait_for(lambda: parts.stored.rows(PENDING) == [(0,)], "every delivery", 60)
        assert peak_kib(worker.pid) - before < BUDGET_KIB
    finally:
        parts.stop()

"""Celery as a contender: a worker of two processes on Redis, in the Python of the peers."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.services import PEERS_PYTHON, STOP_SECONDS

PROCESSES = 2
_QUIET = ("--loglevel", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True)
class CeleryPeer:
    """One of the Celery applications in benchmarks/peers/. ``broker`` is a redis:// URL."""

    name: str
    broker: str
    environment: dict[str, str] = field(default_factory=dict)

    def enqueue(self, count: int, urls: list[str]) -> None:
        """Enqueue ``count`` deliveries. Raises subprocess.CalledProcessError."""
        subprocess.run(self._enqueuing(count, urls), env=self._env(), check=True)

    @contextmanager
    def enqueuer(self, url: str) -> Iterator[Callable[[str], float]]:
        """A function that enqueues the event of a name and returns the time just before, in Unix seconds."""
        command = self._enqueuing(0, [url])
        with subprocess.Popen(
            command, env=self._env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            yield partial(_tell, process)

    @contextmanager
    def worker(self, log: Path) -> Iterator[None]:
        """Run its worker, with its output in the file ``log``."""
        app = f"benchmarks.peers.{self.name}.app"
        pool = ("--pool", "prefork", "--concurrency", str(PROCESSES))
        command = [str(PEERS_PYTHON), "-m", "celery", "-A", app, "worker", *pool, *_QUIET]
        with log.open("wb") as file:
            process = subprocess.Popen(command, env=self._env(), stdout=file, stderr=file)
            try:
                yield
            finally:
                process.terminate()
                process.wait(STOP_SECONDS)

    def _enqueuing(self, count: int, urls: list[str]) -> list[str]:
        module = f"benchmarks.peers.{self.name}.enqueue"
        return [str(PEERS_PYTHON), "-m", module, str(count), *urls]

    def _env(self) -> dict[str, str]:
        # We cannot fix the warnings of peers.
        own = {"BROKER_URL": self.broker, "PYTHONWARNINGS": "ignore"}
        return os.environ | own | self.environment


def _tell(process: "subprocess.Popen[str]", name: str) -> float:
    if process.stdin is None or process.stdout is None:
        raise ValueError("The process has no pipes.")
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    return float(process.stdout.readline())

"""The service as in a deployment: each part is a process, with any number of workers."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from contract_tests.harness import START_SECONDS, Gateway, wait_for

Process = subprocess.Popen[str]


class Parts(Gateway):
    """Web and sandbox. Nothing is delivered until a worker is started."""

    def __init__(self, folder: Path, **settings: str) -> None:
        super().__init__(folder, **settings)
        self._running: list[Process] = []
        self._workers: list[Process] = []

    @property
    def running(self) -> Sequence[Process]:
        """All processes, in the order of their start: at first sandbox and web."""
        return tuple(self._running)

    def start(self) -> Self:
        """Migrate, start web and sandbox, and wait until they serve."""
        self.cli("migrate")
        self.launch("sandbox")
        self.start_web()
        wait_for(self.is_ready, "a ready service", START_SECONDS)
        return self

    def start_web(self) -> None:
        """Start the web part at the service's port."""
        self.process = self.launch("web", "--port", str(self.port))

    def start_worker(self) -> Process:
        """Start another worker."""
        self._workers.append(self.launch("worker"))
        return self._workers[-1]

    def stop_workers(self) -> None:
        """Stop all workers cleanly."""
        for worker in self._workers:
            worker.terminate()
        while self._workers:
            self._workers.pop().wait(START_SECONDS)

    def stop(self) -> int:
        """Stop everything cleanly. Returns the highest exit status."""
        for process in self._running:
            process.terminate()
        return max(process.wait(START_SECONDS) for process in self._running)

    def launch(self, *arguments: str) -> Process:
        """Start another process of the service with its command."""
        with (self.folder / "up.log").open("a") as log:
            process = subprocess.Popen(
                [*self.program, *arguments],
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._running.append(process)
        return process


@contextmanager
def deployed(folder: Path, *, program: Sequence[str] = (), **settings: str) -> Iterator[Parts]:
    """Web and sandbox without a worker. ``program`` replaces the command of the service."""
    parts = Parts(folder, **settings)
    parts.program = tuple(program) or parts.program
    try:
        yield parts.start()
    finally:
        parts.stop()


def seconds_to_end(process: Process) -> float:
    """Send SIGTERM. Returns the seconds until the process ends, which must succeed."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(START_SECONDS) == 0
    return time.monotonic() - began


def kill(process: Process) -> None:
    """SIGKILL a process. Returns when it has ended."""
    process.kill()
    process.wait(START_SECONDS)


def ports_of(pid: int) -> set[int]:
    """The local ports of a process' open TCP connections."""
    return {local for local, _ in _connections(pid)}


def peers_of(pid: int) -> set[int]:
    """The remote ports of a process' open TCP connections."""
    return {remote for _, remote in _connections(pid)}


def _connections(pid: int) -> set[tuple[int, int]]:
    links = [_target(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    inodes = {link.removeprefix("socket:[").rstrip("]") for link in links}
    rows = re.findall(
        r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) (?:\S+ +){6}(\d+)",
        Path(f"/proc/{pid}/net/tcp").read_text(),
        re.MULTILINE,
    )
    return {(int(local, 16), int(remote, 16)) for local, remote, inode in rows if inode in inodes}


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except FileNotFoundError:  # It was closed in the meantime.
        return ""

"""A server process with a free port and a temporary folder, which leaves nothing behind.

A guard watches a pipe from the process that started the server. When that process ends for any reason,
the guard stops the server and removes the folder.
"""

import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from contract_tests.waiting import HOST, START_SECONDS, free_port, wait_for

__all__ = ["HOST", "Server"]

# Reads process ids until its creator has ended, then stops the last one with the
# signal $2 and removes the folder.
# The loop is bounded because a process that nobody reaps seems to run for ever.
GUARD = """
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    kill -"$2" "$pid"
    for _ in $(seq 200); do kill -0 "$pid" || break; sleep 0.05; done
fi 2>/dev/null
rm -rf "$1"
"""


class Server(ABC):
    """A server process, started by ``with`` or ``start()``. The end of a ``with`` removes everything.

    ``port`` and data stay the same over ``stop()`` or ``kill()`` and another ``start()``.
    """

    # The signal at which the server disconnects its clients and ends.
    stopped_by = signal.SIGINT

    def __init__(self, name: str) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"gateway-{name}-"))
        self.process: subprocess.Popen[bytes] | None = None
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", str(self.folder), str(int(self.stopped_by))],
            stdin=subprocess.PIPE,
            start_new_session=True,  # A signal to the process group does not reach it.
        )

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """The command that runs the server in the foreground."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether the server accepts requests."""

    def _account(self) -> Mapping[str, Any]:
        """Arguments for subprocess: the user of the server."""
        return {}

    def start(self) -> Self:
        """Start the server on its data, and wait until it accepts requests."""
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                list(self._command()),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self._account(),
            )
        self._tell_guard(str(self.process.pid))
        wait_for(self._is_up, "a server that answers", START_SECONDS)
        return self

    def stop(self) -> None:
        """Stop the server cleanly, if it runs. Its clients lose their connections."""
        self._end(self.stopped_by)

    def kill(self) -> None:
        """SIGKILL every process of the server."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stop the server, if it runs, and remove its data."""
        self.stop()
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(START_SECONDS)

    def log(self) -> str:
        """The server's output."""
        return (self.folder / "server.log").read_text()

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)
            self.process = None
            self._tell_guard("")

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended: {self.log()}"
        return self._answers()

    def _tell_guard(self, line: str) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{line}\n".encode())
        self._guard.stdin.flush()

    def __enter__(self) -> Self:
        """Start the server."""
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Remove the server."""
        self.close()

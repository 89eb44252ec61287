"""A receiver on gunicorn, as a customer runs it: ``with Gunicorn() as receiver``."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from contract_tests.commands import ROOT
from contract_tests.server_process import HOST, Server
from contract_tests.waiting import wait_for

KEEP_ALIVE_SECONDS, THREADS = 2, 8


class Gunicorn(Server):
    """One process with threads. It closes a connection that is idle for KEEP_ALIVE_SECONDS."""

    def __init__(self) -> None:
        super().__init__("gunicorn")
        self._log = self.folder / "access.log"

    def deliveries(self) -> list[str]:
        """The delivery of each request that was answered, in order."""
        return self._log.read_text().split() if self._log.exists() else []

    def wait(self, count: int) -> None:
        """Wait until this number of deliveries was answered."""
        wait_for(lambda: len(set(self.deliveries())) >= count, f"{count} deliveries")

    def _command(self) -> Sequence[str | Path]:
        options = {
            "bind": f"{HOST}:{self.port}",
            "worker-class": "gthread",
            "threads": THREADS,
            "keep-alive": KEEP_ALIVE_SECONDS,
            "access-logfile": self._log,
            "access-logformat": "%({x-service-delivery}i)s",
            "chdir": ROOT,
        }
        given = [f"--{name}={value}" for name, value in options.items()]
        app = "contract_tests.receivers.always_ok:app"
        return [sys.executable, "-m", "gunicorn", *given, app]

    def _answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port)).close()
        except OSError:
            return False
        return True

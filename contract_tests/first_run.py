"""``gateway up`` as a new user runs it, and its output."""

import os
import re
import signal
from pathlib import Path
from typing import Self

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for

LAST_LINE = "Stop with Ctrl-C."


class FirstRun(Gateway):
    """``gateway up`` as a new user runs it, with ports as the only options."""

    options = ()

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        ours = ("GATEWAY_", "SANDBOX_")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}

    def start(self) -> Self:
        """Start everything and wait until the greeting is complete."""
        self._said_before = len(self.log()) if self.process else 0
        super().start()
        wait_for(lambda: LAST_LINE in self.greeting(), "the end of the greeting")
        return self

    def greeting(self) -> str:
        """The output since the latest start."""
        return self.log()[self._said_before :]

    def printed(self, label: str) -> str:
        """The value behind a label of the greeting."""
        found = re.search(rf"^{label} +(.+)$", self.greeting(), re.MULTILINE)
        assert found is not None, self.greeting()
        return found[1]

    def demo(self) -> Customer:
        """The demo account from the output."""
        number_id, phone, status = self.printed("Number").split()
        number = {"id": number_id, "phoneNumber": phone, "status": status}
        return Customer(self.printed("Account"), self.printed("API key"), self.api, number)

    def processes(self) -> set[int]:
        """All processes that run in the folder."""
        return {int(e.name) for e in Path("/proc").iterdir() if e.name.isdecimal() and self._in(e)}

    def _in(self, process: Path) -> bool:
        try:
            return (process / "cwd").readlink() == self.folder
        except OSError:
            return False

    def end(self, number: signal.Signals) -> int:
        """Send a signal to ``up`` alone, like a terminal or an operator. Returns the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(WAIT_SECONDS)

"""The web and two workers of a service, each of which is started again when it ends."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from contract_tests.parts import Parts, Process, kill

WORKERS = ("worker 1", "worker 2")
WEB = "web"


class Crew:
    """The processes by name. ``ended`` counts those that ended by themselves."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.ended = Counter[str]()
        self._processes = {name: parts.start_worker() for name in WORKERS}

    def __getitem__(self, name: str) -> Process:
        """The process of this name that runs now."""
        process = self._parts.process if name == WEB else self._processes[name]
        assert process is not None
        return process

    @contextmanager
    def killed(self, name: str) -> Iterator[None]:
        """Kill a process, and start it again at once."""
        kill(self[name])
        self._start(name)
        yield

    def restart_ended(self) -> None:
        """Start those that ended by themselves."""
        for name in (WEB, *WORKERS):
            if self[name].poll() is not None:
                self.ended[name] += 1
                self._start(name)

    def _start(self, name: str) -> None:
        if name == WEB:
            self._parts.start_web()
        else:
            self._processes[name] = self._parts.start_worker()

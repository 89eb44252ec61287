"""The supervisor in a separate process, with small programs as its parts."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract_tests.waiting import wait_for

SECONDS = 20
RESTART_SECONDS = 0.2
SUPERVISE = f"""
import json, sys
from gateway.cli import supervisor

supervisor.POLL_SECONDS, supervisor.RESTART_SECONDS = 0.01, {RESTART_SECONDS}
parts = {{name: ["-c", *words] for name, words in json.loads(sys.argv[1])}}
running = supervisor.Supervisor(parts, stop_seconds=0.3)
running.start()
while not running.is_stopping:
    running.tend()
running.stop()
"""
# Writes a line for its start and for each signal. The second argument sets its behaviour.
PART = """
import os, signal, sys, time

def note(word):
    with open(sys.argv[1], "a") as file:
        file.write(f"{word} {os.getpid()} {time.monotonic()}\\n")

def hear(number, _frame):
    note(signal.Signals(number).name)
    if sys.argv[2] != "deaf":
        os._exit(0)

signal.signal(signal.SIGINT, hear)
signal.signal(signal.SIGTERM, hear)
if sys.argv[2] == "parent" and os.fork() == 0:
    note("child")
    while True:
        time.sleep(1)
note("start")
while sys.argv[2] != "broken":
    time.sleep(1)
sys.exit(3)
"""


def is_gone(pid: int) -> bool:
    """True if a process has ended. A zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@dataclass(frozen=True)
class Note:
    """A line that a part wrote."""

    word: str
    pid: int
    at: float


class Supervised:
    """A running supervisor with one part for each kind of program, and their lines."""

    def __init__(self, folder: Path, *kinds: str) -> None:
        self._folder = folder
        # The supervisor's output, complete after its end.
        self.said: list[str] = []
        parts = [(kind, [PART, str(folder / kind), kind]) for kind in kinds]
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, json.dumps(parts)],
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def notes(self, kind: str, word: str) -> list[Note]:
        """The lines of a part with this event, so far."""
        path = self._folder / kind
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [Note(word, int(pid), float(at)) for said, pid, at in lines if said == word]

    def wait(self, kind: str, word: str, count: int = 1) -> list[Note]:
        """Wait for ``count`` of these lines."""

        def found() -> list[Note] | None:
            notes = self.notes(kind, word)
            return notes if len(notes) >= count else None

        return wait_for(found, f"{word} of {kind}, {count} times")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal the supervisor's group. Returns its exit status."""
        os.killpg(self.process.pid, number)
        _, errors = self.process.communicate(timeout=SECONDS)
        self.said = errors.splitlines()
        return self.process.returncode


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    """Starts supervisors, and stops them at the end of the test."""
    started: list[Supervised] = []

    def start(*kinds: str) -> Supervised:
        supervised = Supervised(tmp_path, *kinds)
        started.append(supervised)
        for kind in kinds:
            supervised.wait(kind, "start")
        return supervised

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end()


def test_a_part_that_dies_is_restarted_and_logged(
    supervise: Callable[..., Supervised],
) -> None:
    supervised = supervise("steady", "other")
    victim = supervised.wait("steady", "start")[0].pid
    os.kill(victim, signal.SIGKILL)
    assert supervised.wait("steady", "start", 2)[1].pid != victim
    assert len(supervised.notes("other", "start")) == 1
    assert supervised.end() == 0
    [line] = supervised.said
    assert line.startswith("steady ")
    assert "(-9)" in line


def test_a_part_that_dies_at_once_is_restarted_with_back_off(
    supervise: Callable[..., Supervised],
) -> None:
    supervised = supervise("broken")
    starts = supervised.wait("broken", "start", 4)
    assert supervised.end() == 0
    [line] = set(supervised.said)
    assert line.startswith("broken ")
    assert "(3)" in line
    # The duration of a start varies.
    assert starts[-1].at - starts[0].at >= 2 * RESTART_SECONDS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signals_each_part_once_and_ctrl_c_does_not_reach_them(
    supervise: Callable[..., Supervised], number: signal.Signals
) -> None:
    supervised = supervise("steady", "other")
    assert (supervised.end(number), supervised.said) == (0, [])
    for kind in ("steady", "other"):
        assert len(supervised.notes(kind, "SIGTERM")) == 1
        assert supervised.notes(kind, "SIGINT") == []
        assert is_gone(supervised.notes(kind, "start")[0].pid)


def test_a_part_that_does_not_stop_in_time_is_killed(
    supervise: Callable[..., Supervised],
) -> None:
    supervised = supervise("deaf")
    assert (supervised.end(), supervised.said) == (0, [])
    assert supervised.notes("deaf", "SIGTERM")
    assert is_gone(supervised.notes("deaf", "start")[0].pid)


def test_children_of_a_killed_part_are_killed_when_it_is_restarted(
    supervise: Callable[..., Supervised],
) -> None:
    supervised = supervise("parent")
    child = supervised.wait("parent", "child")[0].pid
    os.kill(supervised.notes("parent", "start")[0].pid, signal.SIGKILL)
    supervised.wait("parent", "start", 2)
    wait_for(lambda: is_gone(child), "the end of the child")
    assert supervised.notes("parent", "SIGTERM") == []


def test_no_part_outlives_a_killed_supervisor(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise("steady")
    supervised.process.kill()
    supervised.process.communicate(timeout=SECONDS)
    supervised.wait("steady", "SIGTERM")

"""The next ``gateway up`` waits for the parts of one that was killed."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import click
import pytest

from gateway.cli import up_locks
from gateway.settings import Settings
from tests.conftest import Configure
from tests.programs import begun

# A part of an earlier ``gateway up``: it inherited the descriptor of the lock.
PART = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit() if sys.argv[1] != "deaf" else None)
print("ready", flush=True)
while True:
    time.sleep(1)
"""
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def settings(configure: Configure) -> Settings:
    """Settings with an empty DATA_DIR."""
    settings = configure()
    settings.data_dir.mkdir()
    return settings


@pytest.fixture
def left_over(settings: Settings) -> Iterator[Start]:
    """Starts parts whose ``gateway up`` has ended."""
    with ExitStack() as stack:

        def start(kind: str) -> subprocess.Popen[str]:
            with up_locks.predecessors_ended(settings, 1) as lock:
                return stack.enter_context(begun("ready", "-c", PART, kind, pass_fds=[lock]))

        yield start


def test_parts_of_a_killed_up_are_waited_for_and_named(
    settings: Settings, left_over: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = left_over("obedient")
    said = []

    def say(text: str, **_: bool) -> None:
        said.append(text)
        part.terminate()

    monkeypatch.setattr(click, "echo", say)
    with up_locks.predecessors_ended(settings, 20):
        assert part.wait(0.5) == 0
    [line] = said
    assert f"process {part.pid} " in line


def test_parts_that_do_not_end_in_time_are_killed(settings: Settings, left_over: Start) -> None:
    part = left_over("deaf")
    part.terminate()
    with up_locks.predecessors_ended(settings, 0.1):
        assert part.wait(0.5) == -signal.SIGKILL


def test_nobody_waits_if_all_parts_ended(
    settings: Settings, left_over: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    part = left_over("obedient")
    part.terminate()
    part.wait()
    with up_locks.predecessors_ended(settings, 0):
        pass
    assert capsys.readouterr().err == ""

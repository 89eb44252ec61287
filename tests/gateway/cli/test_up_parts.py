"""The next ``gateway up`` waits for the parts of one that was killed."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import click
import pytest

from gateway.cli import up_parts
from gateway.settings import Settings
from tests.conftest import Configure

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
    started: list[subprocess.Popen[str]] = []

    def start(kind: str) -> subprocess.Popen[str]:
        with up_parts.predecessors_ended(settings, 1) as lock:
            part = subprocess.Popen(
                [sys.executable, "-c", PART, kind],
                stdout=subprocess.PIPE,
                text=True,
                pass_fds=[lock],
            )
        started.append(part)
        assert part.stdout is not None
        assert part.stdout.readline() == "ready\n"
        return part

    yield start
    for part in started:
        with part:
            part.kill()


def test_parts_of_a_killed_up_are_waited_for_and_named(
    settings: Settings, left_over: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = left_over("obedient")
    said = []

    def say(text: str, **_: bool) -> None:
        said.append(text)
        part.terminate()

    monkeypatch.setattr(click, "echo", say)
    with up_parts.predecessors_ended(settings, 20):
        assert part.wait(0.5) == 0
    [line] = said
    assert f"process {part.pid} " in line


def test_parts_that_do_not_end_in_time_are_killed(settings: Settings, left_over: Start) -> None:
    part = left_over("deaf")
    part.terminate()
    with up_parts.predecessors_ended(settings, 0.1):
        assert part.wait(0.5) == -signal.SIGKILL


def test_nobody_waits_if_all_parts_ended(
    settings: Settings, left_over: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    part = left_over("obedient")
    part.terminate()
    part.wait()
    with up_parts.predecessors_ended(settings, 0):
        pass
    assert capsys.readouterr().err == ""

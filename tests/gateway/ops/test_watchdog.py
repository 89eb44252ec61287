"""A process that hangs ends with its stacks in the log. One that was suspended does not."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from contract_tests.halting import halted
from gateway.ops.watchdog import EXIT_STATUS
from tests.programs import begun

# The watchdog's time. A busy machine must not delay a healthy loop for so long.
SECONDS = 1.0
PATIENCE = 60
Process = subprocess.Popen[str]
Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes that hang in a way, and returns when their watchdog has begun."""
    with ExitStack() as stack:

        def begin(how: str, seconds: float = SECONDS, **environment: str) -> Process:
            program = ("-m", "tests.gateway.ops.hanging", how, str(seconds))
            options = {"env": os.environ | environment, "stderr": subprocess.PIPE}
            return stack.enter_context(begun("started", *program, **options))

        yield begin


@pytest.mark.parametrize(
    ("how", "seconds", "name", "frame"),
    [
        ("loop", 0.5, "the loop", "hanging.py"),
        ("part", 0.5, "a part", "Task "),
        # Zero seconds watch only the end.
        ("stop", 0, "the stop of this process", "Thread MainThread"),
    ],
)
def test_a_process_that_hangs_ends_with_its_stacks_in_the_log(
    start: Start, how: str, seconds: float, name: str, frame: str
) -> None:
    process = start(how, seconds)
    _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == EXIT_STATUS
    [line] = map(json.loads, log.splitlines())
    assert line["message"].startswith(f"{name} ")
    assert frame in line["stacks"]


def test_c_code_that_keeps_pythons_lock_ends_the_process_with_its_stacks(start: Start) -> None:
    process = start("lock", 0.1)
    _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGPROF
    assert "hanging.py" in log
    assert "in _search" in log


def test_a_suspended_process_does_not_end(start: Start) -> None:
    process = start("nothing")
    with halted(process.pid):
        time.sleep(2 * SECONDS)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(SECONDS)


def test_zero_seconds_end_no_process_that_hangs(start: Start) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        start("loop", 0).wait(0.5)


@pytest.mark.parametrize("seconds", [SECONDS, 0])
def test_systemd_hears_of_the_start_and_of_progress_only(
    start: Start, tmp_path: Path, seconds: float
) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(PATIENCE)
        start("nothing", seconds, NOTIFY_SOCKET=path)
        heard = [manager.recv(100) for _ in range(2)]
        assert heard == [b"READY=1", b"WATCHDOG=1"]


def test_systemd_hears_nothing_of_a_process_that_hangs(start: Start, tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        process = start("loop", 0.5, NOTIFY_SOCKET=path)
        assert process.wait(PATIENCE) == EXIT_STATUS
        manager.settimeout(0)
        heard = 0
        with suppress(BlockingIOError):
            while manager.recv(100):
                heard += 1
        # It reported while the loop's silence was shorter than the watchdog's time.
        assert heard <= 14


def test_an_abstract_address_of_systemd_is_understood(start: Start) -> None:
    name = f"gateway-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.settimeout(PATIENCE)
        start("nothing", NOTIFY_SOCKET=f"@{name}")
        assert manager.recv(100) == b"READY=1"

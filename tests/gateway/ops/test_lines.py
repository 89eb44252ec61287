"""Lines for a reader that stalls, ends, or reads at its own speed."""

import fcntl
import os
from collections.abc import Iterator

import pytest

from gateway.ops import lines
from gateway.ops.lines import LineWriter
from services.telemetry import LOG_DROPPED
from tests.waiting import until

LONG = "x" * 1_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe of 4 KiB: its reading and its writing end."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    yield reading, writing
    # The writing end stays open, because the thread of the writer may use it.
    os.close(reading)


def _notice(dropped: int) -> str:
    return f"{dropped} dropped\n"


def _read_until(reading: int, last: bytes) -> bytes:
    read = b""
    while last not in read:
        read += os.read(reading, 1 << 16)
    return read


def _dropped() -> float:
    return float(LOG_DROPPED._value.get())


def test_a_reader_that_stalls_stops_no_writer_and_learns_what_it_missed(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_BYTES", 20_000)
    reading, writing = pipe
    writer, before = LineWriter(writing, _notice, LOG_DROPPED.inc), _dropped()
    for number in range(100):
        writer.write(f"{number} {LONG}\n")
    assert not writer.flush(0.05)
    lost = round(_dropped() - before)
    assert lost > 50
    read = _read_until(reading, f"{lost} dropped\n".encode())
    assert read.count(LONG.encode()) == 100 - lost
    writer.write("flows again\n")
    assert _read_until(reading, b"again\n") == b"flows again\n"


def test_lines_come_whole_and_in_order(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    writer = LineWriter(writing, _notice, LOG_DROPPED.inc)
    told = [f"{number} {LONG * (number % 7)}\n" for number in range(200)]
    for line in told:
        writer.write(line)
    assert _read_until(reading, f"{told[-1]}".encode()).decode() == "".join(told)
    assert writer.flush(5)


def test_a_reader_that_ended_costs_nothing_but_its_lines() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer, before = LineWriter(writing, _notice, LOG_DROPPED.inc), _dropped()
    writer.write("one\ntwo\n")
    assert writer.flush(5)
    assert _dropped() - before == 2


def test_a_descriptor_that_another_process_made_non_blocking_loses_nothing(
    pipe: tuple[int, int],
) -> None:
    reading, writing = pipe
    os.set_blocking(writing, False)
    writer = LineWriter(writing, _notice, LOG_DROPPED.inc)
    writer.write(f"{LONG * 20}\n")
    until(lambda: writer.flush(0) is False, "a full pipe")
    assert len(_read_until(reading, b"\n")) == 20_001

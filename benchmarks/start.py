"""Measures the start of ``gateway up`` and its memory under load, of this commit and an earlier one.

``make bench ARGS=start`` runs it. BENCH_START_BASE=v1.0.0 names the commit to compare with, by default the
one before this. BENCH_START_SECONDS=10 is the duration of the load, BENCH_START_RATE=40 its lives a second.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import requests

from benchmarks.life import make_load, receiver_process
from benchmarks.load import drive
from benchmarks.machine import cpu_seconds
from benchmarks.report import Figure, Goal, Table
from benchmarks.services import ROOT, Parts
from contract_tests.service import Gateway

BASE = os.environ.get("BENCH_START_BASE", "HEAD~1")
SECONDS = float(os.environ.get("BENCH_START_SECONDS", "10"))
RATE = float(os.environ.get("BENCH_START_RATE", "40"))
VENDORED = "dashboard/static/vendored"
POLL_SECONDS = 0.01
# A part is at work when this has passed since /readyz.
REST_SECONDS = 2.0
START_GOAL, MEMORY_GOAL = 0.5, 0.7
PARTS = ("web", "worker", "sandbox")
METHOD = (
    "gateway up on SQLite in an empty folder, with the sandbox, until /readyz and the sandbox respond. CPU"
    " time is of the supervisor, web, worker, sandbox and ended children. Memory is the proportional set size"
    f" (PSS): at rest, and after {SECONDS:.0f} s with {RATE:.0f} lives of messages a second (a send, three"
    " statuses, three events to one webhook). Both commits take turns, in the same environment."
)


class Up(Parts):
    """``gateway up`` of a checkout."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        super().__init__(folder, (), PYTHONPATH=f"{checkout}:{checkout}/sandbox")

    def launch(self) -> dict[str, float]:
        """Start. Returns the seconds until it was ready, and the CPU time until then."""
        begin = time.monotonic()
        self.launch_up()
        while not self._is_up():
            time.sleep(POLL_SECONDS)
        ready = time.monotonic() - begin
        return {"ready": ready, "CPU": cpu_seconds(self._pid)}

    @property
    def _pid(self) -> int:
        return self.process.pid if self.process else 0

    def _is_up(self) -> bool:
        try:
            return self.is_ready()
        except requests.ConnectionError:
            return False

    def memory(self) -> dict[str, float]:
        """The proportional memory of each process, in MiB."""
        pids = {"supervisor": self._pid, **{name: self.part(name) for name in PARTS}}
        return {name: _pss_mib(pid) for name, pid in pids.items()}

    def stop(self) -> int:
        """Stop everything."""
        return Gateway.stop(self)


def run(rounds: int) -> list[Table]:
    """The tables of the start and of the memory."""
    found: dict[str, dict[str, list[float]]] = {"base": {}, "this": {}}
    with checkout(BASE) as base, receiver_process() as (receiver, _):
        for each in (base, ROOT):
            _measure(each, receiver, replays=False)  # Compiles the modules.
        for _ in range(rounds):
            for name, each in (("base", base), ("this", ROOT)):
                for what, value in _measure(each, receiver).items():
                    found[name].setdefault(what, []).append(value)
    return [_table("Start of gateway up", found, ("ready", "CPU"), "s"), _memory_table(found)]


def _measure(checkout: Path, receiver: str, *, replays: bool = True) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        gateway = Up(Path(folder) / "state", checkout)
        measured = gateway.launch()
        try:
            if replays:
                time.sleep(REST_SECONDS)
                measured |= {f"{name}, at rest": mib for name, mib in gateway.memory().items()}
                load = make_load(gateway, receiver)
                drive(replace(load, seconds=SECONDS, rate=RATE))
                measured |= {f"{name}, loaded": mib for name, mib in gateway.memory().items()}
        finally:
            gateway.stop()
        return measured


def _table(
    title: str, found: dict[str, dict[str, list[float]]], names: tuple[str, ...], unit: str
) -> Table:
    figures = [
        Figure(f"{commit}, {name}", unit, tuple(found[commit][name]))
        for name in names
        for commit in ("base", "this")
    ]
    ratio = figures[1].value / figures[0].value
    return Table(
        title, METHOD, figures, [Goal(f"{names[0]}, this to base", ratio, START_GOAL, at_most=True)]
    )


def _memory_table(found: dict[str, dict[str, list[float]]]) -> Table:
    for measured in found.values():
        together = zip(measured["web, loaded"], measured["worker, loaded"], strict=True)
        measured["web and worker, loaded"] = [sum(pair) for pair in together]
    names = [name for name in found["this"] if "rest" in name or "loaded" in name]
    names.remove(first := "web and worker, loaded")
    table = _table("Memory of gateway up", found, (first, *names), "MiB")
    table.goals = [replace(table.goals[0], bound=MEMORY_GOAL)]
    return table


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A commit in a temporary folder, with the vendored files of this one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "base"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            shutil.copytree(ROOT / VENDORED, place / VENDORED)
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def _pss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0

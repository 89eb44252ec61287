"""Measures the upload of 1,000,000 recipients through a web process: ``make bench-recipients``.

The file has phone numbers as a spreadsheet writes them, and two columns of parameters. BENCH_ROWS=1000000
and BENCH_BROADCAST_BACKENDS=SQLite,PostgreSQL+Redis change that. Exits with 1 if a goal is missed.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import requests

from benchmarks.backends import running_backend
from benchmarks.broadcasts import BACKENDS
from benchmarks.harness import peak_mib, resident_mib
from benchmarks.report import Figure, Goal, Table, show
from benchmarks.services import parts

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
# 95 MiB are 100 MB.
MOST_SECONDS, MOST_MIB, PATIENCE_SECONDS = 60, 95, 300
METHOD = (
    f"A CSV file with {ROWS:,} rows, such as '+49 151 10000000;Person 0;Friday', in one request. The memory"
    " is the most that the web process had, minus what it had before. One run."
)


def _file() -> bytes:
    rows = (f"+49 151 {10_000_000 + n};Person {n};Friday\n" for n in range(ROWS))
    return "".join(["to;name;at\n", *rows]).encode()


def measure(backend: str) -> Table:
    """Upload the file to an empty gateway on a backend."""
    with ExitStack() as stack:
        settings = stack.enter_context(running_backend(backend)).settings
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gateway = stack.enter_context(parts(folder, "sandbox", "web", **settings))
        customer, web = gateway.customer(), gateway.processes["web"]
        file, before = _file(), resident_mib(web)
        began = time.perf_counter()
        response = requests.post(
            f"{gateway.api}/broadcasts/files",
            files={"file": ("people.csv", file, "text/csv")},
            headers={"Authorization": f"Bearer {customer.key}"},
            timeout=PATIENCE_SECONDS,
        )
        seconds, more = time.perf_counter() - began, peak_mib(web) - before
    if response.status_code != requests.codes.created or response.json()["recipients"] != ROWS:
        raise RuntimeError(f"the gateway responded {response.status_code} {response.text[:200]}")
    table = Table(f"Recipients from a file, on {backend}", METHOD)
    table.figures = [Figure("upload", "s", (seconds,)), Figure("memory", "MiB", (more,))]
    table.goals += [
        Goal("upload, s", seconds, MOST_SECONDS, at_most=True),
        Goal("memory, MiB", more, MOST_MIB, at_most=True),
    ]
    return table


def tables() -> Iterator[Table]:
    """One for each backend."""
    yield from map(measure, BACKENDS)


if __name__ == "__main__":
    sys.exit(show(tables()))

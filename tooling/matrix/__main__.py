"""Runs the tests on each version and prints a table: ``make matrix``, with ``ARGS="python3.13"`` one leg.

Each Python and the newer SQLite run all tests in process and some of the running service. Each PostgreSQL
runs the tests of the database and those of the running service. A version that is missing is no failure.
The output of each leg is in build/matrix/.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tooling.matrix.versions import BUILD, ROOT, MissingError, postgresql, python, run, sqlite

PYTHONS = ("3.11", "3.12", "3.13")
POSTGRESQLS = ("13", "14", "15", "16", "17", "18")
OF_SERVICE = ("contract_tests/relayed/test_idempotency.py", "contract_tests/test_clean_stop.py")
ALL = ("tests", "sandbox/tests", *OF_SERVICE)
OF_DATABASE = (
    "tests/models",
    "tests/tasks/test_ingest.py",
    "tests/tasks/test_sweep.py",
    "contract_tests/test_two_workers.py",
    *OF_SERVICE,
)
PYTEST = ("-n", "4", "--dist", "loadfile", "--no-loadscope-reorder", "-q")
SUMMARY = re.compile(r"^(?:=+ )?(\d+ (?:passed|failed|error).*?)(?: =+)?$", re.MULTILINE)
SQLITE_VERSION = "import sqlite3; print(sqlite3.sqlite_version)"


@dataclass(frozen=True)
class Setting:
    """A version that this machine has, and what runs on it."""

    version: str
    python: Path | str
    tests: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Result:
    """A row of the table. ``is_good`` unless tests failed."""

    leg: str
    version: str
    text: str
    is_good: bool


def _on_python(version: str) -> Setting:
    program = python(version)
    return Setting(run([program, "--version"]).split()[-1], program, ALL, {})


def _on_postgresql(major: str) -> Setting:
    programs = postgresql(major)
    environment = {"TEST_BACKEND": "postgresql", "TEST_POSTGRESQL_PROGRAMS": str(programs)}
    version = run([programs / "postgres", "--version"]).split()[-1]
    return Setting(version, sys.executable, OF_DATABASE, environment)


def _on_sqlite() -> Setting:
    environment = {"LD_LIBRARY_PATH": str(sqlite())}
    known = run(["env", f"LD_LIBRARY_PATH={sqlite()}", sys.executable, "-c", SQLITE_VERSION])
    if known == run([sys.executable, "-c", SQLITE_VERSION]):
        raise MissingError(f"this Python has its own SQLite {known} built in")
    return Setting(known, sys.executable, ALL, environment)


def legs() -> dict[str, Callable[[], Setting]]:
    """All legs, by name."""
    return {
        **{f"python{version}": lambda v=version: _on_python(v) for version in PYTHONS},
        **{f"postgresql-{major}": lambda m=major: _on_postgresql(m) for major in POSTGRESQLS},
        "sqlite": _on_sqlite,
    }


def _carry_out(leg: str, prepare: Callable[[], Setting]) -> Result:
    print(f"{leg} ...", file=sys.stderr)
    try:
        on = prepare()
    except MissingError as error:
        return Result(leg, "", f"missing: {error}", is_good=True)
    log, began = BUILD / f"{leg}.log", time.monotonic()
    with log.open("w") as output:
        done = subprocess.run(
            [on.python, "-m", "pytest", *PYTEST, *on.tests],
            cwd=ROOT,
            env={**os.environ, **on.environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    counts = SUMMARY.findall(log.read_text(errors="replace")) or [f"ended with {done.returncode}"]
    seconds = round(time.monotonic() - began)
    text = re.sub(r" in [\d.]+s.*", "", counts[-1])
    return Result(leg, on.version, f"{text}, {seconds} s", is_good=done.returncode == 0)


def _table(results: Sequence[Result]) -> Iterator[str]:
    yield "| Leg | Version | Result |"
    yield "|---|---|---|"
    for each in results:
        yield f"| {each.leg} | {each.version} | {each.text} |"


def main(chosen: Sequence[str]) -> int:
    """Run the chosen legs, or all. Returns 1 if tests failed."""
    known = legs()
    if unknown := set(chosen) - set(known):
        sys.exit(f"Unknown: {', '.join(sorted(unknown))}. There are {', '.join(known)}.")
    results = [_carry_out(leg, known[leg]) for leg in chosen or known]
    print("\n".join(_table(results)))
    if failed := [each.leg for each in results if not each.is_good]:
        print(f"Failed: {', '.join(failed)}. See build/matrix/*.log.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

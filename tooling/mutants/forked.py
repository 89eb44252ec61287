"""Runs tests in a process forked from one that has imported the packages of others, which takes 1.5 s.

Only this module and those below are in that process, so each test run imports the gateway's own modules.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from signal import SIGKILL
from threading import Thread
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PRELOADED = (
    "aiohttp.web",
    "connexion",
    "cryptography.fernet",
    "huey.storage",
    "hypothesis",
    "jsonschema_rs",
    "openapi_core",
    "opentelemetry.trace",
    "orjson",
    "peewee",
    "playhouse.migrate",
    "prometheus_client",
    "psycopg",
    "pydantic_settings",
    "pytest",
    "redis",
    "requests",
    "starlette.testclient",
    "uvicorn",
    "uvloop",
    "xdist.plugin",
    "yaml",
)
# --timeout: a mutant may make a test run for ever. -x: the first red test decides. Rewritten assertions would
# only explain it, and what the garbage collector finds after the tests is no red test.
PYTEST = ("-n", "0", "-x", "-q", "--assert=plain", "--hypothesis-seed=0", "--timeout=15")
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:unraisableexception")
TIMED_OUT = None
# The tests that call a function, by its name.
Callers = dict[str, list[str]]
# Seconds that a test waits for what a mutant may have broken. Without a mutation it takes milliseconds.
PATIENCE = "3"


def server() -> ForkServerContext:
    """The process to fork from."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, *PRELOADED])
    return context


class _Order:
    """A plugin of pytest that runs these tests before the others."""

    def __init__(self, first: Sequence[str]) -> None:
        self._places = {node_id: place for place, node_id in enumerate(first)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """See pytest."""
        items.sort(key=lambda item: self._places.get(item.nodeid, len(self._places)))


class _Calls:
    """A plugin of pytest that notes which functions of a module each test calls, the quickest test first.

    A function whose result is kept is only called by the first test that needs it.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._called: set[str] = set()
        self._found: list[tuple[float, str, set[str]]] = []

    def _note(self, frame: FrameType, _event: str, _value: object) -> None:
        if frame.f_code.co_filename == self._module:
            self._called.add(frame.f_code.co_name)

    def pytest_runtest_logstart(self) -> None:
        """See pytest."""
        self._called, self._began = set(), time.monotonic()
        threading.settrace(self._note)
        sys.settrace(self._note)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """See pytest."""
        sys.settrace(None)
        self._found.append((time.monotonic() - self._began, nodeid, self._called))

    def by_function(self) -> Callers:
        """The tests that call each function."""
        callers: Callers = {}
        for _, node_id, called in sorted(self._found, key=lambda found: found[0]):
            for name in called:
                callers.setdefault(name, []).append(node_id)
        return callers


def _end_with_parent() -> None:
    """A mutant may run for ever."""
    if (parent := parent_process()) is not None:
        parent.join()
    os.killpg(0, SIGKILL)


def _test(tree: str, tests: Sequence[str], first: Sequence[str], traced: str | None) -> None:
    """Run the tests in this copy of the work tree, and end this process with pytest's exit code."""
    # A group of its own, with the processes that the tests start.
    os.setsid()
    Thread(target=_end_with_parent, daemon=True).start()
    output = os.open(f"{tree}/output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(tree)
    sys.path[:] = [tree, *(path for path in sys.path if Path(path or tree).resolve() != ROOT)]
    os.environ["PYTHONPATH"] = tree
    os.environ["TEST_PATIENCE"] = PATIENCE
    # Two mutants of one size may be written in the same second, which is all that a .pyc file knows.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    import pytest  # noqa: PLC0415 - imported by the server

    arguments = [*PYTEST, *WITHOUT, f"--basetemp={tree}/build", *tests]
    calls = _Calls(f"{tree}/{traced}")
    code = pytest.main(arguments, plugins=[_Order(first), *([calls] if traced else [])])
    if traced:
        Path(tree, "callers.json").write_text(json.dumps(calls.by_function()))
    sys.stdout.flush()
    # Without waiting for the threads of a broken program.
    os._exit(code)


def run_tests(
    context: ForkServerContext,
    tree: Path,
    tests: Sequence[str],
    *,
    first: Sequence[str] = (),
    timeout: float | None = None,
    traced: str | None = None,
) -> tuple[int | None, str]:
    """Run the tests, those whose ids are in ``first`` before the others.

    Returns the exit code of pytest, negative after a signal, TIMED_OUT after ``timeout`` seconds; its output.
    See callers_in() for the module that is ``traced``.
    """
    arguments = str(tree), tests, first, traced
    process: ForkServerProcess = context.Process(target=_test, args=arguments)
    process.start()
    process.join(timeout)
    code = process.exitcode
    if process.pid is not None:
        # Not there if it has not started its tests, or if nothing of it is left.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, SIGKILL)
    # Before setsid() it has no group of its own.
    process.kill()
    process.join()
    return code, (tree / "output.txt").read_text(errors="replace")


def callers_in(tree: Path) -> Callers:
    """The tests that called each function of the module that was traced last, the quickest first."""
    found: Callers = json.loads((tree / "callers.json").read_text())
    return found

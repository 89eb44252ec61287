"""Runs the tests of a module against each of its mutants, in copies of the work tree."""

import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import WorkItem

from tooling.mutants.forked import ROOT, TIMED_OUT, Callers, callers_in, run_tests, server
from tooling.mutants.selection import Mutant, describe

BUILD = ROOT / "build" / "mutants"
# Not in the repository, but the packages need it.
VENDORED = "dashboard/static/vendored"
KILLED, SURVIVED, TIMEOUT, INVALID = "killed", "survived", "timeout", "invalid"
# pytest's exit codes of a passed run, and of one without a verdict: a module could not be imported, pytest
# failed, or there was no test.
PASSED, NO_VERDICT = 0, (2, 3, 4, 5)

# A red test in pytest's summary, and no line of a log.
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
MOST_KILLERS = 20
# A test that fails alone would kill every mutant for which it is the first one.
OFTEN = 3

# A module and the name of a function in it.
Place = tuple[str, str | None]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Result:
    """What the tests said of a mutant. ``output`` is pytest's."""

    item: WorkItem
    mutant: Mutant
    outcome: str
    output: str


def _copies(number: int) -> list[Path]:
    """Copies of the files that git knows or would add, as they are now, and compiled."""
    first, *others = (BUILD / f"tree-{each}" for each in range(number))
    for tree in (first, *others):
        shutil.rmtree(tree, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (first / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, first / name)
    (first / VENDORED).symlink_to(ROOT / VENDORED)
    compiled = [sys.executable, "-m", "compileall", "-q", str(first)]
    subprocess.run(compiled, stdout=subprocess.DEVNULL, check=False)
    for tree in others:
        shutil.copytree(first, tree, symlinks=True)
    return [first, *others]


def first_failed(output: str) -> str | None:
    """The first red test in the output of pytest."""
    found = _FAILED.search(output)
    return None if found is None else found[1]


def _outcome(code: int | None) -> str:
    if code is TIMED_OUT:
        return TIMEOUT
    if code == PASSED:
        return SURVIVED
    return INVALID if code in NO_VERDICT else KILLED


class Runs:
    """Test runs in ``workers`` copies at a time. ``tests`` are those of each module.

    A mutant may take ``timeout`` seconds longer than three times what the tests take without one.
    """

    def __init__(self, tests: Mapping[str, Sequence[str]], timeout: float, workers: int) -> None:
        self._tests = tests
        self._timeout = timeout
        self._took: dict[str, float] = {}
        self._trees: SimpleQueue[Path] = SimpleQueue()
        for tree in _copies(workers):
            self._trees.put(tree)
        self._threads = ThreadPoolExecutor(workers)
        self._server = server()
        # The tests that run first, because they are likely to kill the next mutant of a function: those that
        # killed the last ones, the newest first, and those that call it.
        self._killers: dict[Place, list[str]] = {}
        self._callers: dict[str, Callers] = {}
        # How many mutants each test of a module killed as the first one that ran.
        self._killed_at_once: Counter[tuple[str, str]] = Counter()

    def check(self, modules: Sequence[str]) -> None:
        """Run the tests on the code as it is, for the second time in a mixed order. Exits if one fails."""
        for module, (code, output) in zip(
            modules, self._threads.map(self._run_unchanged, modules), strict=True
        ):
            if code != PASSED:
                sys.exit(f"{output}\nThe tests of {module} fail without a mutation.")

    def check_killers(self) -> None:
        """Run each test alone that often killed as the first one. Exits if it fails without a mutation."""
        alone = [place for place, kills in self._killed_at_once.items() if kills >= OFTEN]

        def run(place: tuple[str, str]) -> tuple[int | None, str]:
            return self._in_tree(lambda tree: run_tests(self._server, tree, [place[1]]))

        for (module, test), (code, output) in zip(
            alone, self._threads.map(run, alone), strict=True
        ):
            if code != PASSED:
                sys.exit(f"{output}\n{test} fails alone without a mutation of {module}.")

    def _run_unchanged(self, module: str) -> tuple[int | None, str]:
        mixed = list(chain.from_iterable(self._callers.get(module, {}).values()))

        def run(tree: Path) -> tuple[int | None, str]:
            tests = self._tests[module]
            result = run_tests(self._server, tree, tests, first=mixed, traced=module)
            self._callers[module] = callers_in(tree)
            return result

        began = time.monotonic()
        result = self._in_tree(run)
        self._took[module] = time.monotonic() - began
        return result

    def _in_tree(self, work: Callable[[Path], Value]) -> Value:
        tree = self._trees.get()
        try:
            return work(tree)
        finally:
            self._trees.put(tree)

    def mutate(self, items: Sequence[WorkItem]) -> Iterator[Result]:
        """The results as they come."""
        running = [
            self._threads.submit(self._in_tree, partial(self._mutate, item)) for item in items
        ]
        for done in as_completed(running):
            yield done.result()

    def _mutate(self, item: WorkItem, tree: Path) -> Result:
        [spec] = item.mutations
        operator = get_operator(spec.operator_name)()
        with use_mutation(tree / spec.module_path, operator, spec.occurrence) as (before, after):
            module = str(spec.module_path)
            place = module, spec.definition_name
            callers = self._callers[module].get(spec.definition_name or "", [])
            first = list(dict.fromkeys([*self._killers.get(place, []), *callers]))
            timeout = self._timeout + 3 * self._took[module]
            code, output = run_tests(
                self._server, tree, self._tests[module], first=first, timeout=timeout
            )
        if (failed := first_failed(output)) is not None:
            if first and failed == first[0]:
                self._killed_at_once[module, failed] += 1
            others = [each for each in self._killers.get(place, []) if each != failed]
            self._killers[place] = [failed, *others][:MOST_KILLERS]
        return Result(item, describe(spec, before, after), _outcome(code), output)

"""Mutates the modules that decide and runs their tests: ``make mutants``.

``ARGS="models/deliveries/claim.py"`` chooses one module.

cosmic-ray makes the mutants. They run in copies of the work tree in build/mutants/, one on each core. The
survivors are listed in build/mutants/survivors.toml; the session of cosmic-ray, with the output of each run,
is build/mutants/session.sqlite. Exits with 1 if the tests kill too few.
"""

import os
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.commands import init
from cosmic_ray.config import load_config
from cosmic_ray.tools.filters.operators_filter import OperatorsFilter
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkItem, WorkResult

from tooling.mutants.forked import ROOT
from tooling.mutants.operators import Provider
from tooling.mutants.report import Report, read_equivalents
from tooling.mutants.running import BUILD, SURVIVED, Result, Runs
from tooling.mutants.selection import Mutant, Source

HERE = Path(__file__).parent
CONFIGURATION = HERE / "mutants.toml"
SESSION = BUILD / "session.sqlite"


def _stored(result: Result) -> WorkResult:
    """The result as the programs of cosmic-ray read it."""
    is_killed = result.outcome != SURVIVED
    return WorkResult(
        worker_outcome=WorkerOutcome.NORMAL,
        test_outcome=TestOutcome.KILLED if is_killed else TestOutcome.SURVIVED,
        output=result.output,
        diff=f"- {result.mutant.was}\n+ {result.mutant.becomes}",
    )


def _items(database: WorkDB, modules: Sequence[str], tuning: Collection[str]) -> list[WorkItem]:
    """The mutants to run."""
    init([Path(module) for module in modules], database, {})
    OperatorsFilter().main([str(SESSION), str(CONFIGURATION)])
    sources = {module: Source((ROOT / module).read_text(), tuning) for module in modules}
    order = {module: number for number, module in enumerate(modules)}

    def place(item: WorkItem) -> tuple[int, tuple[int, int], str, int]:
        [spec] = item.mutations
        return order[str(spec.module_path)], spec.start_pos, spec.operator_name, spec.occurrence

    found = [
        item
        for item in database.pending_work_items
        if sources[str(item.mutations[0].module_path)].is_decided(item.mutations[0])
    ]
    return sorted(found, key=place)


def main(chosen: Sequence[str]) -> int:
    """Run the mutants of the chosen modules, or of all. Returns 1 if too many survive."""
    os.chdir(ROOT)
    configuration = tomllib.loads(CONFIGURATION.read_text())
    tests = configuration["modules"]
    if unknown := set(chosen) - set(tests):
        sys.exit(f"Unknown: {', '.join(sorted(unknown))}. There are {', '.join(tests)}.")
    modules = list(chosen or tests)
    if missing := [module for module in modules if not (ROOT / module).is_file()]:
        sys.exit(f"No such module: {', '.join(missing)}. See {CONFIGURATION.relative_to(ROOT)}.")
    plugins.OPERATOR_PROVIDERS["gateway"] = Provider()
    BUILD.mkdir(parents=True, exist_ok=True)
    # Twice the processors: tests of many mutants only wait for their time-out.
    workers = int(os.environ.get("MUTANTS_WORKERS") or 2 * (os.cpu_count() or 1))
    began, outcomes = time.monotonic(), defaultdict[Mutant, list[str]](list)
    with use_db(SESSION) as database:
        items = _items(database, modules, configuration["mutants"]["tuning"])
        runs = Runs(tests, load_config(str(CONFIGURATION)).timeout, workers)
        runs.check(modules)
        for count, result in enumerate(runs.mutate(items), 1):
            outcomes[result.mutant].append(result.outcome)
            database.set_result(result.item.job_id, _stored(result))
            print(f"\r{count} of {len(items)}", end="", file=sys.stderr, flush=True)
        # Trouble of the machine would look like tests that kill mutants.
        runs.check(modules)
        runs.check_killers()
    report = Report(modules, outcomes, read_equivalents(HERE / "equivalent.toml"))
    (BUILD / "survivors.toml").write_text("\n".join(report.survivors()))
    print("\n".join(["", *report.table(), *report.notes()]))
    print(f"{round(time.monotonic() - began)} s. Survivors: build/mutants/survivors.toml")
    problems = list(report.problems(configuration["mutants"]["least_killed"]))
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

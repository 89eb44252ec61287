"""``make bench``: runs all benchmarks, or the named ones, with their baselines.

Prints the tables and writes all rounds to build/bench.json. BENCH_ROUNDS=3 sets the number of rounds.
"""

import importlib
import json
import os
import sys
from pathlib import Path

from benchmarks.machine import Processors, describe

# Each has run(rounds) -> Iterable[Table].
BENCHMARKS = (
    "network",
    "sending",
    "callbacks",
    "delivering",
    "waking",
    "pace",
    "processes",
    "growth",
    "life",
    "start",
)
RESULTS = Path("build/bench.json")


def main(names: list[str]) -> None:
    """Run them one after another, so that they do not compete for the processor."""
    rounds = int(os.environ.get("BENCH_ROUNDS", "3"))
    machine, tables = describe(), []
    print(json.dumps(machine, indent=2))
    RESULTS.parent.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        processors = Processors()
        for table in importlib.import_module(f"benchmarks.{name}").run(rounds):
            table.stolen = processors.stolen
            tables.append(table)
            print("", *table.lines(), sep="\n", flush=True)
            # After each table, so that an interrupted run keeps the finished ones.
            found = {"machine": machine, "tables": [each.as_json() for each in tables]}
            RESULTS.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

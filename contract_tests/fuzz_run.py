"""Runs Schemathesis in as many passes as the requested number of examples needs."""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contract_tests.contract import load_contract, strict_text
from contract_tests.fuzz_report import Report
from contract_tests.harness import ROOT
from contract_tests.operations import ENDLESS

METHODS = {"get", "put", "post", "patch", "delete"}
MAX_PASSES = 20
# Enough for chains to reach most of the linked operations.
MIN_CHAINS = 50


def read_operations() -> dict[str, dict[str, Any]]:
    """The contract's operations, like ``GET /numbers``, without the one whose response does not end."""
    return {
        f"{method.upper()} {path}": operation
        for path, item in load_contract()["paths"].items()
        for method, operation in item.items()
        if method in METHODS and operation["operationId"] != ENDLESS
    }


def linked_operations(operations: Mapping[str, Any]) -> dict[str, list[str]]:
    """The operations that links lead to, each with the operations whose responses have these links."""
    sources = {
        name: [
            source
            for source, other in operations.items()
            if operation["operationId"] in _links(other)
        ]
        for name, operation in operations.items()
    }
    return {name: found for name, found in sources.items() if found}


def _links(operation: Mapping[str, Any]) -> set[str]:
    links = (response.get("links", {}).values() for response in operation["responses"].values())
    return {link["operationId"] for each in links for link in each}


def _including(operations: Iterable[str]) -> list[str]:
    return [option for name in operations for option in ("--include-name", name)]


@dataclass
class Fuzzer:
    """One service to fuzz. The fuzzing phase sends ``examples`` requests to each operation."""

    folder: Path
    environment: Mapping[str, str]
    examples: int
    seed: int
    passes: int = field(default=0, init=False)

    @property
    def _contract(self) -> Path:
        return self.folder / "openapi.yaml"

    def run(self) -> Report:
        """All phases, then passes with other seeds for what earlier passes left out.

        Hypothesis stops early and silently when its choices depend on earlier responses, as in chains of
        requests. And a chain begins only where Schemathesis expects success, unless an option restricts it
        to the operations of the chain.
        """
        report = Report()
        self._contract.write_text(strict_text())
        self._pass(report, self.examples, ["--phases", "examples,coverage,fuzzing"])
        while not report.faults and (missing := self._missing(report)):
            if self.passes == MAX_PASSES + self.examples // 5:
                report.faults.append(f"{self.passes} passes were not enough")
            else:
                self._pass(report, *missing)
        return report

    def _missing(self, report: Report) -> tuple[int, list[str]] | None:
        """The number of missing examples, and the options of the pass that adds them."""
        operations = read_operations()
        sent = {o: report.checked[o]["fuzzing"] for o in operations}
        if short := [o for o, count in sent.items() if count < self.examples]:
            return self.examples - min(sent.values()), ["--phases", "fuzzing", *_including(short)]
        stateful, linked = ["--phases", "stateful"], linked_operations(operations)
        chains = max(self.examples, MIN_CHAINS)
        if (missing := chains - report.scenarios["stateful"]) > 0:
            group = {*linked, *itertools.chain(*linked.values())}
            return missing, [*stateful, *_including(sorted(group))]
        if unmet := [o for o in linked if not report.checked[o]["stateful"]]:
            # All together, because a pass takes two seconds to start. It may miss some.
            sources = itertools.chain(*(linked[operation] for operation in unmet))
            return chains // 5, [*stateful, *_including(sorted({*unmet, *sources}))]
        return None

    def _pass(self, report: Report, examples: int, options: list[str]) -> None:
        number, self.passes = self.passes, self.passes + 1
        events, log = self.folder / f"pass{number}.ndjson", self.folder / f"pass{number}.log"
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", str(self._contract)),
            *("--max-examples", str(examples), "--seed", str(self.seed + number)),
            *("--report-ndjson-path", str(events), *options),
        ]
        with log.open("w") as output:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if events.exists():
            report.read(events)
            events.unlink()
        if done.returncode != 0:
            report.faults.append(f"{' '.join(command)}: exit {done.returncode}\n{log.read_text()}")

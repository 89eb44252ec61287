"""Runs Schemathesis in as many passes as the requested number of examples needs."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract_tests.contract import load_contract
from contract_tests.fuzz_report import Report
from contract_tests.harness import ROOT
from contract_tests.operations import ENDLESS

METHODS = {"get", "put", "post", "patch", "delete"}
MAX_PASSES = 20


def read_operations() -> dict[str, dict[str, Any]]:
    """The contract's operations, like ``GET /numbers``, without the one whose response does not end."""
    return {
        f"{method.upper()} {path}": operation
        for path, item in load_contract()["paths"].items()
        for method, operation in item.items()
        if method in METHODS and operation["operationId"] != ENDLESS
    }


def _around(operations: Mapping[str, Any], wanted: str) -> list[str]:
    """An operation and those that link to it. Without links, those of its tag and of its parent resources."""
    operation, path = operations[wanted], wanted.split()[1]
    before = [
        name for name, other in operations.items() if operation["operationId"] in _linked(other)
    ]
    if before:
        return [wanted, *before]
    return [
        name
        for name, other in operations.items()
        if operation["tags"] == other["tags"] or path.startswith(name.split()[1])
    ]


def _linked(operation: Mapping[str, Any]) -> set[str]:
    links = (response.get("links", {}).values() for response in operation["responses"].values())
    return {link["operationId"] for each in links for link in each}


@dataclass
class Fuzzer:
    """One service to fuzz. The fuzzing phase sends ``examples`` requests to each operation."""

    folder: Path
    environment: Mapping[str, str]
    examples: int
    seed: int

    def run(self) -> Report:
        """All phases, then passes with other seeds for what the first pass left out.

        Hypothesis stops early and silently when its choices depend on earlier responses, as in chains of
        requests. And a chain begins only where Schemathesis expects success, unless an option restricts it
        to chains.
        """
        report = Report()
        options: list[str] | None = []
        missing, passes = self.examples, 0
        while options is not None and not report.faults:
            if passes == MAX_PASSES + self.examples // 5:
                report.faults.append(f"{passes} passes were not enough")
                break
            self._pass(report, passes, missing, options)
            passes += 1
            missing, options = self._next(report, passes)
        return report

    def _next(self, report: Report, passes: int) -> tuple[int, list[str] | None]:
        """The number of missing examples, and the options of the pass that adds them."""
        operations = read_operations()
        sent = {o: report.checked[o]["fuzzing"] for o in operations}
        if short := [o for o, count in sent.items() if count < self.examples]:
            names = [option for o in short for option in ("--include-name", o)]
            return self.examples - min(sent.values()), ["--phases", "fuzzing", *names]
        stateful = ["--phases", "stateful"]
        if (missing := self.examples - report.scenarios["stateful"]) > 0:
            return missing, stateful
        unmet = [o for o in operations if not report.checked[o]["stateful"]]
        if unmet:
            # In turns: a pass may miss its operation, and must not keep the others waiting.
            around = _around(operations, unmet[passes % len(unmet)])
            names = [option for o in around for option in ("--include-name", o)]
            return max(10, self.examples // 5), [*stateful, *names]
        return 0, None

    def _pass(self, report: Report, number: int, examples: int, options: list[str]) -> None:
        events, log = self.folder / f"pass{number}.ndjson", self.folder / f"pass{number}.log"
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "run", "openapi.yaml"),
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

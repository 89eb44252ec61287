"""Summarizes Schemathesis' report of its events (NDJSON)."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PHASES = ("examples", "coverage", "fuzzing", "stateful")
BROKEN = {"NonFatalError", "FatalError", "Interrupted"}
MAX_DETAIL = 1500


@dataclass(repr=False)
class Report:
    """The requests and results over all passes."""

    # Operation -> phase -> HTTP status -> requests. An operation looks like ``GET /numbers``.
    statuses: dict[str, dict[str, Counter[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    # The requests of an operation whose checks ran, by phase.
    checked: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    checks: Counter[str] = field(default_factory=Counter)
    # The requests by account.
    accounts: Counter[str | None] = field(default_factory=Counter)
    scenarios: Counter[str] = field(default_factory=Counter)
    phases: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # Failed checks, errors of Schemathesis and requests without a response, as text.
    faults: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)

    def read(self, path: Path) -> None:
        """Add the report of one pass."""
        with path.open() as lines:
            for line in lines:
                for kind, event in json.loads(line).items():
                    self._add(kind, event)

    def _add(self, kind: str, event: dict[str, Any]) -> None:
        if kind in BROKEN:
            self.faults.append(f"{kind}: {json.dumps(event)[:MAX_DETAIL]}")
        elif kind == "PhaseFinished":
            self.phases[event["phase"]["name"]].append(event["status"])
        elif kind == "EngineFinished":
            self.finished.append(event["stop_reason"])
        elif kind == "ScenarioFinished" and event["phase"] in PHASES:
            self._add_scenario(event["phase"], event["recorder"])

    def _add_scenario(self, phase: str, recorder: dict[str, Any]) -> None:
        cases = recorder.get("cases", {})
        self.scenarios[phase] += bool(cases)
        for case_id, node in cases.items():
            # A request with another method is a probe of the operation that the scenario tests.
            own = f"{node['value']['method']} {node['value']['path']}"
            operation = own if phase == "stateful" else recorder["label"]
            response = recorder["interactions"].get(case_id, {}).get("response")
            if response is None:
                self.faults.append(f"{own}: no answer")
                continue
            self.statuses[operation][phase][response["status_code"]] += 1
            self.accounts[node["value"].get("auth_identity")] += 1
            checks = recorder.get("checks", {}).get(case_id, [])
            self.checked[operation][phase] += bool(checks)
            self._add_checks(own, checks, response)

    def _add_checks(
        self, where: str, checks: Iterable[dict[str, Any]], response: dict[str, Any]
    ) -> None:
        for check in checks:
            self.checks[check["name"]] += 1
            if check["status"] != "success":
                why = json.dumps(check.get("failure_info", check["status"]))
                self.faults.append(
                    f"{where}: {check['name']}, status {response['status_code']}: "
                    f"{why[:MAX_DETAIL]}"
                )

    def seen(self, operation: str) -> Counter[int]:
        """The HTTP statuses of an operation in all phases."""
        return sum(self.statuses[operation].values(), Counter())

    def table(self, operations: Iterable[str]) -> Iterator[str]:
        """One line for each operation: requests by phase, statuses."""
        yield f"{'operation':<42}" + "".join(f"{phase:>10}" for phase in PHASES) + "  statuses"
        for operation in operations:
            sent = [sum(self.statuses[operation][phase].values()) for phase in PHASES]
            statuses = ", ".join(f"{s} x{n}" for s, n in sorted(self.seen(operation).items()))
            yield f"{operation:<42}" + "".join(f"{n:>10}" for n in sent) + f"  {statuses}"

"""Counts the mutants of each module, and compares the survivors with the list of equivalent ones."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tooling.mutants.running import INVALID, KILLED, SURVIVED, TIMEOUT
from tooling.mutants.selection import Mutant

COLUMNS = ("Mutants", "Killed", "Timeouts", "Survived", "Equivalent", "Invalid")


@dataclass(frozen=True)
class Equivalent:
    """An entry of equivalent.toml: mutants that change nothing that somebody relies on.

    Without ``becomes`` it means all mutants of this operator on this line.
    """

    module: str
    function: str
    operator: str
    was: str
    reason: str
    becomes: str | None = None

    def is_of(self, mutant: Mutant) -> bool:
        """Whether the entry means this mutant."""
        seen = (mutant.module, mutant.function, mutant.operator, mutant.was)
        entry = (self.module, self.function, self.operator, self.was)
        return seen == entry and self.becomes in (None, mutant.becomes)


def read_equivalents(path: Path) -> list[Equivalent]:
    """The entries of the file. Each module has a table of its own."""
    return [
        Equivalent(module, **entry)
        for module, entries in tomllib.loads(path.read_text()).items()
        for entry in entries
    ]


@dataclass(frozen=True)
class Row:
    """The counts of a module."""

    module: str
    counts: Counter[str]
    equivalent: int

    @property
    def meaningful(self) -> int:
        """The mutants that a test could kill."""
        return self.counts.total() - self.counts[INVALID] - self.equivalent

    @property
    def percent(self) -> float:
        """The part of them that was killed."""
        caught = self.counts[KILLED] + self.counts[TIMEOUT]
        return 100 * caught / self.meaningful if self.meaningful else 0.0


class Report:
    """The results of a run, and what follows from them."""

    def __init__(
        self, modules: Sequence[str], outcomes: dict[Mutant, list[str]], known: list[Equivalent]
    ) -> None:
        self.outcomes = outcomes
        self.known = [entry for entry in known if entry.module in modules]
        self.rows = [self._row(module) for module in modules]

    def _row(self, module: str) -> Row:
        counts = Counter(
            outcome
            for mutant, found in self.outcomes.items()
            if mutant.module == module
            for outcome in found
        )
        equivalent = sum(
            found.count(SURVIVED)
            for mutant, found in self.outcomes.items()
            if mutant.module == module and self._is_equivalent(mutant)
        )
        return Row(module, counts, equivalent)

    def _is_equivalent(self, mutant: Mutant) -> bool:
        return any(entry.is_of(mutant) for entry in self.known)

    def table(self) -> Iterator[str]:
        """A row for each module and for all."""
        total = Row(
            "all",
            sum((row.counts for row in self.rows), Counter()),
            sum(row.equivalent for row in self.rows),
        )
        yield f"| Module | {' | '.join(COLUMNS)} | Killed of the meaningful |"
        yield f"|---|{'---:|' * (len(COLUMNS) + 1)}"
        for row in [*self.rows, total]:
            counts = row.counts
            shown = [counts.total(), counts[KILLED], counts[TIMEOUT], counts[SURVIVED]]
            cells = " | ".join(map(str, [*shown, row.equivalent, counts[INVALID]]))
            yield f"| {row.module} | {cells} | {row.percent:.1f} % |"

    def survivors(self) -> Iterator[str]:
        """The meaningful ones, as entries that equivalent.toml would have."""
        for mutant, found in self.outcomes.items():
            if SURVIVED in found and not self._is_equivalent(mutant):
                yield f"[[{_quoted(mutant.module)}]]"
                for name in ("function", "operator", "was", "becomes"):
                    yield f"{name} = {_quoted(getattr(mutant, name))}"
                yield ""

    def problems(self, least: float) -> Iterator[str]:
        """Why the run fails."""
        for row in self.rows:
            if not row.counts.total():
                yield f"{row.module}: no mutants. Was it moved? See tooling/mutants/mutants.toml."
            elif row.percent < least:
                yield f"{row.module}: {row.percent:.1f} % killed, less than {least} %."
        for entry in self.known:
            if not any(entry.is_of(mutant) for mutant in self.outcomes):
                yield f"equivalent.toml: no mutant matches {entry.function}, {entry.was!r}."

    def notes(self) -> Iterator[str]:
        """Entries that the tests contradict."""
        for entry in self.known:
            found = [o for m, outcomes in self.outcomes.items() if entry.is_of(m) for o in outcomes]
            if found and SURVIVED not in found:
                yield f"equivalent.toml: killed, not equivalent: {entry.function}, {entry.was!r}."


def _quoted(text: str) -> str:
    return "'''" + text + "'''" if '"' in text or "\\" in text else f'"{text}"'

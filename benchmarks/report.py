"""The results of a benchmark: the figures of all contenders, and ratios compared with goals.

A figure is the median of its rounds. All contenders of a table take turns in the same run. A busy machine
slows all of them, so the ratios are more reliable than the figures.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One figure, measured once a round."""

    name: str
    unit: str
    rounds: tuple[float, ...]

    @property
    def value(self) -> float:
        """The median."""
        return median(self.rounds)


@dataclass(frozen=True)
class Goal:
    """A minimum of a value, mostly of a ratio of two figures. ``at_most`` makes it a maximum."""

    name: str
    value: float
    bound: float
    at_most: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the value reaches the goal."""
        return self.value <= self.bound if self.at_most else self.value >= self.bound


@dataclass
class Table:
    """The figures of one benchmark, including the baselines, and its goals.

    ``stolen`` is the share of the cores' time, from 0 to 1, that the host gave to other machines since
    the benchmark began. If it is large, the figures say little about this machine.
    """

    title: str
    method: str
    figures: list[Figure] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    stolen: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Every round of every figure, and every goal, as JSON."""
        return {
            "title": self.title,
            "method": self.method,
            "stolen": self.stolen,
            "figures": [asdict(figure) | {"value": figure.value} for figure in self.figures],
            "goals": [asdict(goal) | {"isMet": goal.is_met} for goal in self.goals],
        }

    def lines(self) -> Iterable[str]:
        """The table as text, at most 80 columns wide."""
        yield self.title
        for figure in self.figures:
            spread = f"{min(figure.rounds):,.4g} to {max(figure.rounds):,.4g}"
            yield f"  {figure.name:<44} {figure.value:>9,.4g} {figure.unit:<5} ({spread})"
        yield f"  {'stolen by the host meanwhile':<44} {100 * self.stolen:>9.3g} %"
        for goal in self.goals:
            sign = "<=" if goal.at_most else ">="
            met = "met" if goal.is_met else "MISSED"
            yield f"  {goal.name:<44} {goal.value:>9.3g} {sign} {goal.bound:<6g} {met}"


def show(tables: Iterable[Table]) -> int:
    """Print the tables. Returns the exit status: 1 if a goal is missed."""
    is_met = True
    for table in tables:
        print(*table.lines(), sep="\n", flush=True)
        is_met = is_met and all(goal.is_met for goal in table.goals)
    return 0 if is_met else 1

"""Runs contenders in turns, so that a busy machine slows all of them equally."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from benchmarks.load import Answers, Load, drive
from benchmarks.report import Figure

Rounds = dict[str, list[Answers]]


def more_rounds(rounds: int) -> int:
    """More rounds, for the median of figures that a single stall can distort.

    These figures are a p99 and operations of milliseconds (docs/performance.md).
    """
    return 2 * rounds + 1


def drive_in_turns(rounds: int, loads: Mapping[str, Load]) -> Rounds:
    """Run each load once a round. Returns the results by name. Raises LoadError."""
    answers: Rounds = {name: [] for name in loads}
    for _ in range(rounds):
        for name, load in loads.items():
            answers[name].append(drive(load))
    return answers


def at_share(share: float, answers: Rounds, loads: Mapping[str, Load]) -> dict[str, Load]:
    """The loads, paced at this share of each contender's rate."""
    return {
        name: replace(load, rate=share * median(each.rate for each in answers[name]))
        for name, load in loads.items()
    }


def rates(answers: Rounds) -> list[Figure]:
    """Responses a second."""
    return [
        Figure(name, "1/s", tuple(each.rate for each in found)) for name, found in answers.items()
    ]


def costs(answers: Rounds) -> list[Figure]:
    """The servers' CPU time for each response, in ms."""
    return [
        Figure(f"{name}, CPU", "ms", tuple(each.cpu for each in found))
        for name, found in answers.items()
    ]


def latencies(answers: Rounds) -> list[Figure]:
    """The p50 and p99 of the latency, in ms."""
    return [
        Figure(f"{name}, {label}", "ms", values)
        for name, found in answers.items()
        for label, values in (
            ("p50", tuple(each.p50 for each in found)),
            ("p99", tuple(each.p99 for each in found)),
        )
    ]

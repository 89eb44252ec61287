"""Contenders asked in turns, so that a machine that is busy for a while slows all of them."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from benchmarks.load import Answers, Load, drive
from benchmarks.report import Figure

Rounds = dict[str, list[Answers]]


def more_rounds(rounds: int) -> int:
    """How many rounds to take the median of where a single stall makes a round's figure.

    It makes a p99, and whatever takes milliseconds altogether (docs/performance.md).
    """
    return 2 * rounds + 1


def drive_in_turns(rounds: int, loads: Mapping[str, Load]) -> Rounds:
    """Each load once a round, and what came of it by its name. Raises LoadError."""
    answers: Rounds = {name: [] for name in loads}
    for _ in range(rounds):
        for name, load in loads.items():
            answers[name].append(drive(load))
    return answers


def at_share(share: float, answers: Rounds, loads: Mapping[str, Load]) -> dict[str, Load]:
    """The loads once more, paced at this share of the rate that each contender reached."""
    return {
        name: replace(load, rate=share * median(each.rate for each in answers[name]))
        for name, load in loads.items()
    }


def rates(answers: Rounds) -> list[Figure]:
    """Answers a second."""
    return [
        Figure(name, "1/s", tuple(each.rate for each in found)) for name, found in answers.items()
    ]


def costs(answers: Rounds) -> list[Figure]:
    """The servers' time on a processor for each answer, in ms."""
    return [
        Figure(f"{name}, CPU", "ms", tuple(each.cpu for each in found))
        for name, found in answers.items()
    ]


def latencies(answers: Rounds) -> list[Figure]:
    """p50 and p99 in ms."""
    return [
        Figure(f"{name}, {label}", "ms", values)
        for name, found in answers.items()
        for label, values in (
            ("p50", tuple(each.p50 for each in found)),
            ("p99", tuple(each.p99 for each in found)),
        )
    ]

"""One fault of a storm: what it breaks, and for how long."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

# The shortest and longest duration of a short fault, in seconds. The service might wait for longer ones.
SHORT = (0.2, 0.8)

Happening = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """``with fault.happening(): ...`` breaks something and repairs it at the end.

    ``is_felt`` means that all sends fail until it is over. None: this depends on the moment. It lasts for a
    random time between ``seconds``, if given. The effects of a slow one last until each process has noticed
    it by a deadline. ``afterwards`` runs when the service works again.
    """

    family: str
    name: str
    happening: Happening
    is_felt: bool | None = None
    seconds: tuple[float, float] | None = None
    is_slow: bool = False
    afterwards: Callable[[], None] | None = None


def planned(faults: Sequence[Fault], number: int, dice: random.Random) -> list[Fault]:
    """One fault of each family, then all faults about equally often, in random order."""
    families: dict[str, list[Fault]] = {}
    for fault in faults:
        families.setdefault(fault.family, []).append(fault)
    plan = [dice.choice(family) for family in families.values()]
    while len(plan) < number:
        plan += dice.sample(faults, len(faults))
    return dice.sample(plan[:number], number)

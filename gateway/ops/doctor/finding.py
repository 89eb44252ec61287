"""What a check finds, and how checks run: at the same time, and never for longer than they may."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gateway.state import REFUSALS, in_one_line


class State(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line of what was found, and one of how to mend it (None when nothing is to be mended)."""

    state: State
    found: str
    mend: str | None = None


@dataclass(frozen=True)
class Check:
    """A finding under the name of its check."""

    name: str
    state: State
    found: str
    mend: str | None


Probe = Callable[[], Finding]


def ok(found: str) -> Finding:
    """As it should be."""
    return Finding(State.OK, found)


def warning(found: str, mend: str) -> Finding:
    """The service works, and somebody should look."""
    return Finding(State.WARNING, found, mend)


def problem(found: str, mend: str) -> Finding:
    """The service does not work, or not for long."""
    return Finding(State.PROBLEM, found, mend)


def named(name: str, finding: Finding) -> Check:
    """The finding as a check of this name."""
    return Check(name, finding.state, finding.found, finding.mend)


def run(probes: Mapping[str, Probe], seconds: float) -> list[Check]:
    """Run all probes at the same time; who has no answer after so many seconds is a problem."""
    found: dict[str, Finding] = {}

    def look(name: str, probe: Probe) -> None:
        found[name] = _guarded(probe)

    # As daemons: a probe that hangs does not keep the command from ending.
    threads = [
        threading.Thread(target=look, args=item, name=item[0], daemon=True)
        for item in probes.items()
    ]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = problem(f"No answer within {seconds:g} s.", "See what holds it up, then run this again.")
    return [named(name, found.get(name, late)) for name in probes]


def _guarded(probe: Probe) -> Finding:
    try:
        return probe()
    except REFUSALS as error:
        return problem(
            f"It cannot be used: {in_one_line(error)}",
            "Mend the file, folder or server that its setting names: docs/configuration.md.",
        )
    except Exception as error:  # noqa: BLE001 - one check that breaks leaves the others alone
        # The text of an error that nobody foresaw might hold a secret.
        return problem(f"The check itself broke: {type(error).__name__}.", "Report this.")

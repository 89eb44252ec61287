"""Two workers at WhatsApp's limits of a number: ``make broadcast-limits``.

It needs a machine without other load: a busy one bunches messages on their way. BROADCAST_RATES=20,80,1000
sets the messages a second.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.machine import Processors, cpu_seconds
from contract_tests.broadcast_limits import STANDARD, Limited, people, two_workers

HIGH = 1_000
RATES = [int(rate) for rate in os.environ.get("BROADCAST_RATES", "20,80,1000").split(",")]
SECONDS, PATIENCE_SECONDS = 20, 90
MOST, LEAST = 1.05, 0.95
RECOVERY_SECONDS = 30
PEOPLE, RECIPIENTS, SINGLE = 10_000, 10_500, 200
# In the order of their start.
PARTS = "sandbox", "web", "a worker", "the other"

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Limited]:
    with two_workers(tmp_path) as parts:
        yield Limited.of(parts)


@contextmanager
def _measured(service: Limited) -> Iterator[list[str]]:
    """Prints its lines, with the cores that each process used meanwhile."""
    lines, processors = list[str](), Processors()
    running = service.parts.running
    before = [cpu_seconds(each.pid) for each in running]
    began = time.monotonic()
    yield lines
    seconds = time.monotonic() - began
    used = [cpu_seconds(each.pid) - at for each, at in zip(running, before, strict=True)]
    named = zip(PARTS, used, strict=True)
    cores = ", ".join(f"{name} {each / seconds:.2f}" for name, each in named)
    lines.append(f"cores: {cores}; idle share of the machine {processors.idle:.2f}")
    print("", *lines, sep="\n  ")  # noqa: T201 - the figures that this target is for


# No number has another rate than these two.
@pytest.mark.parametrize(
    ("rate", "of_broadcast"),
    [(rate, False) for rate in RATES if rate in {STANDARD, HIGH}]
    + [(rate, True) for rate in RATES],
)
def test_two_workers_use_a_rate_and_keep_it(
    service: Limited, rate: int, *, of_broadcast: bool
) -> None:
    service.limit(HIGH if of_broadcast else rate)
    changes = {"ratePerSecond": rate} if of_broadcast else {}
    with _measured(service) as lines:
        arrivals = service.paced(rate * SECONDS, PATIENCE_SECONDS, **changes)
        most, used = arrivals.most_within(1) / rate, arrivals.rate / rate
        lines.append(f"{rate:,} a second: at most {most:.3f} of it in a second, {used:.3f} used")
    assert most <= MOST
    assert used >= LEAST


@pytest.mark.parametrize(("limit", "lower"), [(STANDARD, 40), (HIGH, 300)])
def test_a_throttled_number_uses_its_limit_again(service: Limited, limit: int, lower: int) -> None:
    service.limit(limit)
    with _measured(service) as lines:
        found = service.throttled(limit, lower, seconds=8, most=RECOVERY_SECONDS)
        lines.append(
            f"{limit:,} a second, {lower} for some seconds: {found.refused:,} messages refused,"
            f" 90 % used again after {found.seconds} s"
        )
    assert found.refused > 0
    assert found.seconds is not None
    assert found.seconds <= RECOVERY_SECONDS


def test_a_limit_of_ten_thousand_people_holds_to_the_person(service: Limited) -> None:
    service.limit(HIGH, "TIER_10K")
    with _measured(service) as lines:
        found = service.filled(PEOPLE, RECIPIENTS, SINGLE, PATIENCE_SECONDS)
        lines.append(f"{len(found.reached):,} people reached, {found.refused} messages refused")
    assert len(found.reached) == PEOPLE
    assert found.refused == 0
    everybody = {*people(RECIPIENTS), *people(SINGLE, RECIPIENTS - SINGLE // 2)}
    assert found.left >= everybody - found.reached

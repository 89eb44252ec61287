"""Two workers keep the limits of a number together, also after the network throttled it.

``make broadcast-limits`` measures the same at WhatsApp's limits. The bounds here leave room for the delays of
a busy machine.
"""

from collections.abc import Iterator

import pytest

from contract_tests.broadcast_limits import Limited, people, two_workers
from contract_tests.parts import Parts

SECONDS = 8
MOST, LEAST = 1.2, 0.9
RECOVERY_SECONDS = 30


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with two_workers(tmp_path_factory.mktemp("limits")) as parts:
        yield parts


@pytest.fixture
def service(parts: Parts) -> Limited:
    return Limited.of(parts)


@pytest.mark.parametrize("rate", [None, 20], ids=["of the number", "of the broadcast"])
def test_two_workers_keep_one_pace(service: Limited, rate: int | None) -> None:
    service.limit(80)
    wanted, changes = (80, {}) if rate is None else (rate, {"ratePerSecond": rate})
    arrivals = service.paced(wanted * SECONDS, 60, **changes)
    assert arrivals.most_within(1) <= MOST * wanted
    assert LEAST * wanted <= arrivals.rate <= wanted


@pytest.mark.timeout(180)
def test_a_throttled_number_uses_its_limit_again_soon_and_sends_nothing_twice(
    service: Limited,
) -> None:
    service.limit(80)
    recovery = service.throttled(80, lower=20, seconds=3, most=RECOVERY_SECONDS)
    assert recovery.refused > 0
    assert recovery.seconds is not None
    assert recovery.seconds <= RECOVERY_SECONDS


def test_a_limit_of_people_holds_to_the_person(service: Limited) -> None:
    most, recipients, single = 200, 250, 20
    service.limit(1_000, f"TIER_{most}")
    found = service.filled(most, recipients, single, 60)
    assert len(found.reached) == most
    assert found.refused == 0
    everybody = {*people(recipients), *people(single, recipients - single // 2)}
    assert found.left >= everybody - found.reached

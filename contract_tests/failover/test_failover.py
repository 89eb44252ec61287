"""A failover to an up-to-date standby loses nothing, doubles nothing, and takes seconds."""

from pathlib import Path

import pytest

from contract_tests.backends import POSTGRESQL
from contract_tests.failover.drill import drill

# From the end of the promotion to the first response 200.
BACK_SECONDS = 5

pytestmark = pytest.mark.timeout(120)


def test_a_failover_loses_nothing_and_takes_seconds(tmp_path: Path) -> None:
    with drill(tmp_path, POSTGRESQL) as ready:
        outcome = ready.fail_over("killed", late=0)
    assert outcome.survived
    assert (outcome.lost, outcome.doubled, outcome.undelivered) == (set(), set(), set())
    assert outcome.since_promotion < BACK_SECONDS, outcome

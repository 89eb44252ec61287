"""Failovers in every way, with the DSN of both servers and through PgBouncer: ``make failover``."""

from functools import partial
from pathlib import Path

import pytest

from contract_tests.backends import PGBOUNCER, POSTGRESQL
from contract_tests.failover.drill import (
    AFTER,
    BEFORE,
    PATIENCE,
    SETTLE_SECONDS,
    WAYS,
    Outcome,
    drill,
)
from contract_tests.harness import wait_for

# The longest time from the end of the promotion to the first response 200.
BACK_SECONDS = 5
# Longer than the service waits for a COMMIT, which PostgreSQL answers when the standby has it.
STANDBY_AWAY_SECONDS = 60
RECIPIENT = "15580000002"

pytestmark = pytest.mark.timeout(400)


def _say(text: object) -> None:
    print(f"\n  {text}")  # noqa: T201 - the figures of docs/failover.md


def _check(outcome: Outcome) -> None:
    assert outcome.survived
    assert (outcome.lost, outcome.doubled, outcome.undelivered) == (set(), set(), set())
    assert outcome.since_promotion < BACK_SECONDS, outcome


@pytest.mark.parametrize("backend", [POSTGRESQL, PGBOUNCER])
@pytest.mark.parametrize("late", [0, 10])
@pytest.mark.parametrize("way", WAYS)
def test_a_failover_loses_and_doubles_nothing(
    way: str, late: float, backend: str, tmp_path: Path
) -> None:
    for run in range(1 if late else 3):
        folder = tmp_path / str(run)
        folder.mkdir()
        with drill(folder, backend) as ready:
            outcome = ready.fail_over(way, late)
        _say(f"{way}, promoted {late} s later, {backend}: {outcome}")
        _check(outcome)


def test_nothing_is_sent_before_a_synchronous_standby_has_it(tmp_path: Path) -> None:
    """The standby is away, then the primary ends for ever. The client repeats its request."""
    with drill(tmp_path, POSTGRESQL) as ready:
        sent = partial(ready.ledger.customer.send, RECIPIENT, key="once")
        with ready.pair.lagging():
            answer = ready.ledger.customer.send(RECIPIENT, key="once", timeout=STANDBY_AWAY_SECONDS)
            ready.pair.primary.kill()
            ready.below.fail_over()
        wait_for(lambda: sent().ok, "a message sent", PATIENCE)
        accepted = [each for each in ready.ledger.accepted() if each["to"] == RECIPIENT]
    assert len(accepted) == 1, answer.text
    assert answer.status_code in {500, 503}


def test_an_asynchronous_standby_that_lagged_lacks_the_last_messages(tmp_path: Path) -> None:
    """Those are lost that were sent during the lag. Their keys are lost too, so a repetition sends again."""
    with drill(tmp_path, POSTGRESQL, synchronous=False) as ready:
        senders = ready.senders
        with senders.running():
            senders.progress.allow_more(BEFORE)
            assert senders.progress.reach_answers(BEFORE)
            ready.ledger.settle(SETTLE_SECONDS)
            with ready.pair.lagging():
                senders.progress.allow_more(AFTER)
                assert senders.progress.reach_answers(BEFORE + AFTER)
                ready.pair.primary.kill()
                ready.below.fail_over()
        late = set(range(BEFORE, BEFORE + AFTER))
        known = {message["id"] for message in ready.ledger.messages()}
        lost = {number for number, told in senders.ids.items() if told not in known}
        _say(f"asynchronous, standby lagged: {len(lost)} of {len(senders.ids)} messages lost")
        assert lost == late
        senders.ids.clear()
        assert {senders.send(number) for number in sorted(lost)} == {"sent"}
        assert ready.outcome().doubled == {senders.recipient(n) for n in lost}

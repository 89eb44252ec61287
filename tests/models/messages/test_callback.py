"""Storage of the network's callbacks until they are ingested."""

import pytest

from models.database import writing
from models.messages.callback import LEASE_MS, PAUSES, Callback
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def test_a_callback_is_kept_byte_by_byte() -> None:
    raw = b'{"a":"\\u00e1\\/"}\x00\xff'
    Callback.store(raw)
    [claimed] = Callback.claim_many(LEASE_MS, 1)
    assert bytes(claimed.body) == raw


def test_a_finished_callback_is_not_claimed_again(clock: Clock) -> None:
    Callback.finish(Callback.store(b"{}")[0].id)
    clock.advance(days=1)
    assert Callback.claim_many(LEASE_MS, 10) == []


def test_the_oldest_are_claimed_first_and_only_once() -> None:
    made = [Callback.store(b"{}")[0].id for _ in range(3)]
    assert [each.id for each in Callback.claim_many(LEASE_MS, 2)] == made[:2]
    assert [each.id for each in Callback.claim_many(LEASE_MS, 2)] == made[2:]
    assert Callback.claim_many(LEASE_MS, 2) == []


@pytest.mark.parametrize(("most_bytes", "count"), [(1, 1), (5, 1), (6, 2), (11, 2), (12, 3)])
def test_a_claim_takes_none_after_the_body_that_fills_its_bytes(
    most_bytes: int, count: int
) -> None:
    """So one of any size is claimed, and the oldest first."""
    made = [Callback.store(body)[0].id for body in (b"\xff" * 5, b"{}abcd", b"{}")]
    claimed = Callback.claim_many(LEASE_MS, 10, most_bytes)
    assert [each.id for each in claimed] == made[:count]


def test_a_failure_is_counted_with_its_reason_and_waits_longer_each_time(clock: Clock) -> None:
    callback = Callback.store(b"{}")[0]
    for pause in PAUSES:
        [claimed] = Callback.claim_many(LEASE_MS, 1)
        claimed.postpone("OverflowError: too large")
        clock.advance(milliseconds=pause * 1_000 - 1)
        assert Callback.claim_many(LEASE_MS, 1) == []
        clock.advance(milliseconds=1)
    kept = Callback.get_by_id(callback.id)
    assert (kept.tries, kept.error) == (len(PAUSES), "OverflowError: too large")


def test_callbacks_of_a_dead_worker_come_before_new_ones_and_each_alone(clock: Clock) -> None:
    left = [callback.id for callback in Callback.store(b"{}", b"{}", b"{}")]
    assert len(Callback.claim_many(LEASE_MS, 10)) == len(left)
    clock.advance(milliseconds=LEASE_MS)
    assert Callback.recall_dead() == len(left)
    assert Callback.recall_dead() == 0
    new = [callback.id for callback in Callback.store(b"{}", b"{}")]
    claims = [[callback.id for callback in Callback.claim_many(LEASE_MS, 10)] for _ in range(5)]
    assert claims == [*([each] for each in left), new, []]


def test_running_leases_new_callbacks_and_pauses_are_not_recalled(clock: Clock) -> None:
    Callback.store(b"{}", b"{}", b"{}")
    [failed] = Callback.claim_many(LEASE_MS, 1)
    failed.postpone("no")
    clock.advance(milliseconds=PAUSES[0] * 1_000 - 1)
    Callback.claim_many(LEASE_MS, 1)
    clock.advance(milliseconds=LEASE_MS - 1)
    assert Callback.recall_dead() == 0
    clock.advance(milliseconds=1)
    assert Callback.recall_dead() == 1


def test_a_clock_that_was_set_back_leaves_no_lease_behind(clock: Clock) -> None:
    Callback.store(b"{}", b"{}")
    [leased] = Callback.claim_many(LEASE_MS, 1)
    clock.advance(hours=-1)
    assert Callback.recall_dead() == 1
    assert Callback.recall_dead() == 0
    assert leased.id in {Callback.claim_many(LEASE_MS, 1)[0].id for _ in range(2)}
    with writing():
        Callback.finish(leased.id)

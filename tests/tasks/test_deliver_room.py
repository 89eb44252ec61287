"""The room of a lane, and the time that an attempt has."""

import asyncio
import threading
import time

import pytest

from models.deliveries.claim import LEASE_MARGIN_MS, LEAST_TRIES, Allowed, Claim, Terms
from models.deliveries.outgoing import Limits
from tasks import deliver
from tasks.deliver import Engine, Lane, lease_ms
from tasks.spacing import Spacing
from tests.tasks.engines import TIMEOUT, make_engine
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.pace import LEAST
from webhooks.schedule import RetrySchedule


def test_a_lease_is_the_timeout_and_the_time_to_record() -> None:
    assert lease_ms(10) == 10_000 + LEASE_MARGIN_MS
    assert lease_ms(0.5) == 500 + LEASE_MARGIN_MS


def test_an_attempt_takes_room_until_it_ends() -> None:
    async def run() -> None:
        lane, ends = Lane(3, 1_000, Spacing(0)), [asyncio.Event() for _ in range(3)]
        tasks = [asyncio.create_task(_wait_for(end)) for end in ends]
        for account_id, size, task in zip(("a", "a", "b"), (1, 2, 4), tasks, strict=True):
            lane.start(account_id, size, task)
        assert (lane.room, dict(lane.accounts)) == (0, {"a": 2, "b": 1})
        assert dict(lane.sizes) == {"a": 3, "b": 4}
        for end, left, sizes in zip(
            ends,
            ({"a": 1, "b": 1}, {"b": 1}, {}),
            ({"a": 2, "b": 4}, {"b": 4}, {}),
            strict=True,
        ):
            end.set()
            await tasks[ends.index(end)]
            assert (lane.room, dict(lane.accounts)) == (3 - sum(left.values()), left)
            assert dict(lane.sizes) == sizes
            assert lane.size_left == 1_000 - sum(sizes.values())

    asyncio.run(run())


@pytest.mark.parametrize(("size", "room"), [(99, 2), (100, 0), (150, 0)])
def test_a_lane_whose_bytes_are_in_flight_has_no_room(size: int, room: int) -> None:
    async def run() -> None:
        lane, end = Lane(3, 100, Spacing(0)), asyncio.Event()
        lane.start("a", size, task := asyncio.create_task(_wait_for(end)))
        assert lane.room == room
        end.set()
        await task
        assert lane.room == 3

    asyncio.run(run())


def test_a_lane_claims_for_what_it_has_in_flight() -> None:
    async def run() -> None:
        lane, end = Lane(50, 100, Spacing(0), slow=True), asyncio.Event()
        limits = Limits({"pro": 1}, {"pro": 2})
        lane.start("a", 30, task := asyncio.create_task(_wait_for(end)))
        assert lane.terms(5, limits, {"wh": (2, 1)}, "me") == Terms(
            LEAST,
            5,
            slow=True,
            paces={"wh": Allowed(2, 1)},
            per_account=10,
            in_flight={"a": 1},
            size=70,
            size_per_account=20,
            size_in_flight={"a": 30},
            worker="me",
            limits=limits,
        )
        end.set()
        await task

    asyncio.run(run())


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()


def _engine(most_open: int) -> Engine:
    client = WebhookClient(timeout=10, allow_local=True, user_agent="x", most_open=most_open)
    return Engine(client, RetrySchedule(()), 10, 10)


@pytest.mark.parametrize(
    ("most_open", "fast", "slow"),
    [(10_000, 500, 100), (60, 49, 10), (6, 4, 1), (3, 1, 1), (2, 1, 1)],
)
def test_the_lanes_and_a_suspect_fit_into_the_connections(
    most_open: int, fast: int, slow: int
) -> None:
    assert [(lane.max_in_flight, lane.slow) for lane in _engine(most_open)._lanes] == [
        (fast, False),
        (slow, True),
    ]


def test_an_attempt_needs_its_timeout_and_half_of_the_margin() -> None:
    assert make_engine()._needed_ms == TIMEOUT * 1000 + LEASE_MARGIN_MS / 2


def test_a_burst_of_wake_ups_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, calls = make_engine(), list[object]()
    monkeypatch.setattr(engine, "_call", calls.append)
    for _ in range(3):
        engine.wake()
    assert len(calls) == 1
    engine._wake_lanes()
    engine.wake()
    assert len(calls) == 2, "a wake-up after the lanes were woken is another one"


@pytest.mark.parametrize(
    ("more", "stopping", "looks"),
    [(False, False, 1), (True, True, 1), (True, False, deliver.MAX_BACK)],
)
def test_a_poll_goes_on_while_there_is_more_and_lets_others_write(
    monkeypatch: pytest.MonkeyPatch, *, more: bool, stopping: bool, looks: int
) -> None:
    looked, pauses, calls = list[int](), list[float](), list[object]()

    def bring_back(last_try: int) -> tuple[bool, bool]:
        looked.append(last_try)
        return True, more

    engine = make_engine()
    monkeypatch.setattr(deliver, "bring_back", bring_back)
    monkeypatch.setattr("tasks.deliver.time.sleep", pauses.append)
    monkeypatch.setattr(engine, "_call", calls.append)
    engine._stopping = stopping
    engine.look()
    assert looked == [LEAST_TRIES] * looks
    assert len(calls) == looks, "the lanes are woken each time"
    assert pauses in ([], [deliver.BACK_PAUSE_SECONDS] * looks)
    assert bool(pauses) == (looks > 1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Terms]:
    """What the engine asks claims for. Nothing is due."""
    asked: list[Terms] = []

    def claim(_room: int, terms: Terms) -> Claim:
        asked.append(terms)
        return Claim([], set(), more=False)

    monkeypatch.setattr(deliver, "claim_due", claim)
    return asked


@pytest.mark.parametrize(("most_open", "fast", "slow"), [(10_000, 100, 20), (60, 9, 2), (3, 1, 1)])
def test_an_account_gets_a_fifth_of_a_lane(
    asked: list[Terms], most_open: int, fast: int, slow: int
) -> None:
    engine = _engine(most_open)
    engine.start()
    until(lambda: len(asked) >= 2, "a claim of each lane")
    engine.stop()
    assert {(terms.per_account, terms.slow) for terms in asked} == {(fast, False), (slow, True)}


def test_an_idle_engine_claims_nothing(asked: list[Terms]) -> None:
    engine = make_engine()
    engine.start()
    until(lambda: len(asked) >= 2, "a claim of each lane")
    time.sleep(0.2)
    assert len(asked) == 2
    engine.stop()
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("deliver")]
    assert left == [], "no thread of the engine is left"


def test_a_worker_exits_though_an_attempt_is_under_way() -> None:
    assert make_engine()._thread.daemon


def test_a_webhook_has_at_most_the_part_of_an_account_in_flight() -> None:
    engine = _engine(31)
    assert engine._lanes[0].max_per_account == 5
    assert engine._paces.of("wh", is_slow=False).window == 5


@pytest.mark.usefixtures("state")
def test_a_lane_without_room_is_woken_by_no_rate() -> None:
    """It claims when it has some: until then the wake-ups would follow each other without a pause."""
    engine = make_engine()
    [_, slow] = engine._lanes
    engine._paces.of("wh_1", is_slow=True).close(engine.loop.time() + 1)
    engine._set_alarm()
    assert engine._alarm is not None
    slow.max_in_flight = 0
    engine._set_alarm()
    assert engine._alarm is None

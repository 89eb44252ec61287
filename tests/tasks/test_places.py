"""Messages leave at their places: never bunched, also after a pause of the process."""

import asyncio
import time
from bisect import bisect_left

import pytest

from models.database.outage import BusyError
from models.numbers.pace import Pace, Reserved
from services.broadcast_pace import LEAD_SECONDS
from tasks.places import LATEST_SECONDS, Places, Turns

pytestmark = pytest.mark.usefixtures("state")

RATE = 200
SECONDS = 0.2
# Those of the window, and a quarter more.
MOST = 50


class Sender:
    """Sends through turns that share a pace, and notes when."""

    def __init__(self) -> None:
        self.times = list[float]()
        self.turns = Turns(self._reserve)
        self.leads = list[float]()
        self.failures = 0
        self.delay = 0.0
        # For so long after the first call, no call ends.
        self.silence = 0.0

    async def _reserve(self, count: int, lead: float) -> Reserved:
        self.leads.append(lead)
        if self.failures:
            self.failures -= 1
            raise BusyError(1)
        reserved = Pace.reserve("num_1", count, RATE, lead)
        await asyncio.sleep(self.delay)
        return reserved

    async def send(self, count: int, room: int = 1_000) -> None:
        """Send so many messages."""
        places = Places.of(Pace.reserve("num_1", count, RATE, LEAD_SECONDS))
        limit = asyncio.Semaphore(room)
        await asyncio.gather(*(self._send(places.at(at), limit) for at in range(count)))

    async def _send(self, place: float, room: asyncio.Semaphore) -> None:
        async with self.turns.turn(place, room):
            now = asyncio.get_running_loop().time()
            self.times.append(now)
            await asyncio.sleep(self.times[0] + self.silence - now)

    @property
    def most(self) -> int:
        """The most messages in any window of SECONDS."""
        ends = (bisect_left(self.times, each + SECONDS) for each in self.times)
        return max(end - at for at, end in enumerate(ends))


@pytest.fixture
def sender() -> Sender:
    return Sender()


def test_each_leaves_at_its_place(sender: Sender) -> None:
    asyncio.run(sender.send(60))
    assert len(sender.times) == 60
    assert sender.times[-1] - sender.times[0] == pytest.approx(59 / RATE, abs=LATEST_SECONDS)


def test_a_pause_of_the_process_bunches_nothing(sender: Sender) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(LEAD_SECONDS + 0.1, time.sleep, 0.3)
        await sender.send(120)

    asyncio.run(run())
    assert len(sender.times) == 120
    assert sender.most <= MOST


def test_calls_that_end_together_let_no_others_leave_together(sender: Sender) -> None:
    sender.silence = 0.5
    asyncio.run(sender.send(90, room=30))
    assert len(sender.times) == 90
    assert sender.most <= MOST


def test_messages_leave_while_the_database_is_slow(sender: Sender) -> None:
    async def run() -> None:
        asyncio.get_running_loop().call_later(LEAD_SECONDS, time.sleep, 0.2)
        await asyncio.wait_for(sender.send(20), 10)

    # Longer than the lead and the tolerance: their first other places are past, too.
    sender.delay = 0.2
    asyncio.run(run())
    assert len(sender.times) == 20
    assert sender.leads == [LEAD_SECONDS, pytest.approx(0.4, abs=0.1)]


def test_places_are_reserved_when_the_database_is_back(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        asyncio.get_running_loop().call_later(LEAD_SECONDS, time.sleep, 0.2)
        await sender.send(3)

    monkeypatch.setattr("tasks.places.FAILURE_SECONDS", 0.01)
    sender.failures = 2
    asyncio.run(run())
    assert len(sender.times) == 3
    assert not sender.failures

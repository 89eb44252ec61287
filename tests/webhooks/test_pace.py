"""The pace of a webhook: what it learns from the answers, beside a simulated receiver."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest

from webhooks.client import Answer
from webhooks.pace import (
    FIRST,
    FORGET_SECONDS,
    LEAST,
    LEAST_RATE,
    TIDY_SECONDS,
    Pace,
    Paces,
    rest_of,
)

MOST = 100


def _answer(
    status: int | None, ms: int = 100, *, timed_out: bool = False, retry_after: str = ""
) -> Answer:
    error = None if status == 200 else "An error."
    return Answer(status, error, "", ms, timed_out=timed_out, retry_after=retry_after)


def _attempt(pace: Pace, now: float, answer: Answer | None, *, is_new: bool = True) -> None:
    """An attempt that ends when its answer says."""
    pace.start(now, is_new=is_new)
    ms = answer.duration_ms if answer else 0
    pace.end(now + ms / 1000, now, answer)


@dataclass
class Simulation:
    """A worker that always has events for one webhook, whose receiver answers by ``reply``.

    ``reply`` gets the time and how many attempts are in flight.
    """

    reply: Callable[[float, int], Answer]
    pace: Pace = field(default_factory=lambda: Pace(MOST))
    now: float = 0.0
    taken: int = 0
    refused: int = 0
    # The attempts in flight: their ends and beginnings, a number to sort them, and their answers.
    ends: list[tuple[float, float, int, Answer]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def run(self, seconds: float, events: int = 1 << 30) -> None:
        """Deliver for so many seconds, or until all events are taken."""
        ends, until, left = self.ends, self.now + seconds, events
        while self.now < until and (left or ends):
            while left and self.pace.news(self.now):
                self.pace.start(self.now, is_new=True)
                answer = self.reply(self.now, self.pace.in_flight)
                left -= 1
                end = self.now + answer.duration_ms / 1000
                heapq.heappush(ends, (end, self.now, next(self.numbers), answer))
            opens = self.pace.rate.opens_at(self.now) if self.pace.rate else self.now
            if ends and (self.pace.room == 0 or not left or ends[0][0] <= opens):
                end, began, _, answer = heapq.heappop(ends)
                self.now = max(self.now, end)
                self.pace.end(self.now, began, answer)
                self.taken += answer.success
                self.refused += not answer.success
                left += not answer.success
            else:
                self.now = max(opens, self.now + 0.001)


@pytest.mark.parametrize("ms", [10, 100, 300, 1_000])
def test_a_healthy_receiver_soon_gets_all_that_a_worker_may_send(ms: int) -> None:
    simulation, round_trips = Simulation(lambda _now, _together: _answer(200, ms)), 50
    simulation.run(round_trips * ms / 1000)
    assert simulation.pace.window == MOST
    assert simulation.taken > 0.8 * MOST * round_trips


def test_a_receiver_that_gets_late_gets_no_more_at_a_time() -> None:
    """It has ten processes of 100 ms. More requests at a time only wait."""
    simulation = Simulation(lambda _now, together: _answer(200, 100 * max(1, together // 10)))
    simulation.run(120)
    assert simulation.pace.window < 70
    assert simulation.taken / 120 > 90


def _limited(a_second: int) -> Callable[[float, int], Answer]:
    accepted: dict[int, int] = {}

    def reply(now: float, _together: int) -> Answer:
        accepted[int(now)] = accepted.get(int(now), 0) + 1
        return _answer(200 if accepted[int(now)] <= a_second else 429, 10)

    return reply


@pytest.mark.parametrize("a_second", [2, 15, 100])
def test_a_receiver_that_accepts_few_requests_refuses_few(a_second: int) -> None:
    simulation = Simulation(_limited(a_second))
    simulation.run(120)
    assert simulation.refused < 0.2 * (simulation.taken + simulation.refused)
    assert simulation.taken > 0.6 * 120 * a_second


@pytest.mark.parametrize("status", [None, 502, 503, 504])
def test_a_receiver_that_fails_now_and_then_stays_fast(status: int | None) -> None:
    numbers = count(1)
    simulation = Simulation(
        lambda _now, _together: _answer(200 if next(numbers) % 10 else status, 100)
    )
    simulation.run(60)
    assert simulation.taken / 60 > 20


def test_an_outage_costs_few_attempts_and_ends_within_seconds() -> None:
    outage = 20, 320

    def reply(now: float, _together: int) -> Answer:
        return _answer(502 if outage[0] <= now < outage[1] else 200, 100)

    simulation = Simulation(reply)
    simulation.run(outage[0])
    before, refused = simulation.taken / outage[0], simulation.refused
    simulation.run(outage[1] - outage[0])
    assert simulation.refused - refused < 2 * LEAST_RATE * (outage[1] - outage[0]) + 2 * MOST
    simulation.taken = 0
    simulation.run(30)
    assert simulation.taken / 30 > before / 4


def test_a_window_halves_for_each_timeout_but_not_below_the_least() -> None:
    pace = Pace(MOST)
    windows = []
    for _ in range(4):
        _attempt(pace, 0, _answer(None, 10_000, timed_out=True))
        windows.append(pace.window)
    assert windows == [FIRST // 2, LEAST, LEAST, LEAST]
    assert pace.rate is None


def test_refusals_at_a_time_are_one() -> None:
    pace = Pace(MOST)
    for _ in range(FIRST):
        pace.start(0, is_new=True)
    for _ in range(FIRST):
        pace.end(0.01, 0, _answer(429, 10))
    assert pace.window == FIRST // 2
    assert pace.rate is not None
    assert pace.rate.a_second == FIRST / 0.01 / 2


def test_a_rate_begins_with_half_of_what_the_window_allows() -> None:
    """However few attempts are in flight, and however quick the refusal is."""
    pace = Pace(MOST)
    _attempt(pace, 0, _answer(200, 100))
    _attempt(pace, 1, _answer(429, 2))
    assert pace.rate is not None
    assert pace.rate.a_second == FIRST / 0.1 / 2


@pytest.mark.parametrize("status", [400, 401, 404, 410, 500, 301])
def test_another_error_changes_nothing(status: int) -> None:
    pace = Pace(MOST)
    _attempt(pace, 0, _answer(status))
    _attempt(pace, 0, None)
    assert (pace.window, pace.rate, pace.in_flight) == (FIRST, None, 0)


@pytest.mark.parametrize("status", [None, 429, 502, 503, 504])
def test_a_refusal_slows_down(status: int | None) -> None:
    pace = Pace(MOST)
    _attempt(pace, 0, _answer(status))
    assert pace.window == FIRST // 2


@pytest.mark.parametrize("refusal", [_answer(429), _answer(503, retry_after="1")])
def test_a_receiver_that_limits_its_requests_has_a_rate(refusal: Answer) -> None:
    pace = Pace(MOST)
    _attempt(pace, 0, refusal)
    assert pace.news(0.1) == 0
    _attempt(pace, 1, _answer(200))
    assert pace.rate is not None


@pytest.mark.parametrize("status", [None, 502, 503, 504])
def test_a_receiver_that_takes_none_has_a_rate_until_it_takes_one(status: int | None) -> None:
    pace = Pace(MOST)
    _attempt(pace, 0, _answer(status))
    assert pace.news(0.1) == pace.room
    _attempt(pace, 1, _answer(status))
    assert pace.news(1.1) == 0
    _attempt(pace, 2, _answer(200))
    assert pace.news(2.1) == pace.room


def test_a_retry_needs_no_part_of_the_rate() -> None:
    pace = Pace(MOST)
    _attempt(pace, 0, _answer(429))
    assert (pace.news(0.1), pace.room) == (0, FIRST // 2)
    pace.start(0.1, is_new=False)
    assert pace.rate is not None
    assert pace.rate.left(0.1) == 0


def test_a_window_that_is_not_used_does_not_grow() -> None:
    pace = Pace(MOST)
    for second in range(100):
        _attempt(pace, second, _answer(200))
    assert pace.window == FIRST


def test_a_webhook_that_was_slow_begins_with_the_least() -> None:
    assert Pace(MOST, is_slow=True).window == LEAST
    assert Pace(1).window == 1


def test_a_pace_is_forgotten_that_is_as_a_new_one_or_old() -> None:
    paces = Paces(MOST)
    for webhook_id in ("shrunk", "new"):
        paces.of(webhook_id, is_slow=False).start(0, is_new=True)
    paces.of("shrunk", is_slow=False).end(1, 0, _answer(None, timed_out=True))
    assert set(paces.known(2, is_slow=False)) == {"shrunk", "new"}
    assert set(paces.known(2 + TIDY_SECONDS, is_slow=False)) == {"shrunk", "new"}, (
        "an attempt is in flight"
    )
    paces.of("new", is_slow=False).end(20, 0, _answer(200))
    assert set(paces.known(20 + TIDY_SECONDS, is_slow=False)) == {"shrunk"}
    assert set(paces.known(1 + FORGET_SECONDS, is_slow=False)) == {"shrunk"}
    assert set(paces.known(1 + FORGET_SECONDS + TIDY_SECONDS, is_slow=False)) == set()


def test_paces_open_when_a_rate_allows_an_event_that_may_wait() -> None:
    paces = Paces(MOST)
    pace, other = (paces.of(name, is_slow=False) for name in ("slow", "other"))
    _attempt(other, 0, _answer(200))
    _attempt(pace, 0, _answer(429, 1_000))
    assert paces.known(1.1, is_slow=False)["slow"] == (FIRST // 2, 0)
    assert pace.rate is not None
    assert paces.opens_at(1.1) == pytest.approx(1 + 1 / pace.rate.a_second)
    assert paces.opens_at(9) == 9, "it opened after the last claim"
    assert paces.known(9, is_slow=False)["slow"] == (FIRST // 2, 1)
    assert paces.opens_at(9) is None, "that claim took nothing"
    pace.start(9, is_new=False)
    assert paces.opens_at(9) is None, "a retry needs no part"
    pace.start(9, is_new=True)
    assert paces.opens_at(9) == pytest.approx(9 + 1 / pace.rate.a_second)


NOW = 1_795_167_000.0


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("2", 2),
        (" 120 ", 120),
        ("3601", 3600),
        ("9" * 5_000, 3600),
        ("0", 0),
        ("-1", 0),
        ("1.5", 0),
        ("soon", 0),
        ("", 0),
        ("Fri, 20 Nov 2026 09:30:30 GMT", 30),
        ("Fri, 20 Nov 2026 09:30:30", 30),
        ("Fri, 20 Nov 2026 19:30:00 GMT", 3600),
        ("Fri, 20 Nov 2026 09:29:00 GMT", 0),
        ("Fri, 20 Nov 99999 09:29:00 GMT", 0),
        (f"Fri, 20 Nov 2026 09:30:30 +{'9' * 20}", 0),
        (f"Fri, 20 Nov {'9' * 5_000} 09:30:30 GMT", 0),
        ("Mon, 1 Jan 0001 00:00:00 +1400", 0),
    ],
)
def test_a_receiver_asks_for_a_rest_in_seconds_or_until_a_date(given: str, seconds: float) -> None:
    for status in (429, 503):
        assert rest_of(_answer(status, retry_after=given), NOW) == seconds
    for other in (None, 200, 404, 502):
        assert rest_of(_answer(other, retry_after=given), NOW) == 0


def test_a_webhook_at_its_own_limit_is_known_until_it_opens() -> None:
    paces = Paces(100)
    paces.of("wh_1", is_slow=False).close(20.0)
    assert paces.opens_at(5.0) == 20.0
    # The second look is after a clean-up.
    for now in (6.0, 17.0):
        assert paces.known(now, is_slow=False) == {"wh_1": (FIRST, 0)}
        assert paces.opens_at(now) == 20.0
    assert paces.known(20.0, is_slow=False) == {"wh_1": (FIRST, FIRST)}
    assert paces.opens_at(20.0) is None


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_claim_of_the_other_lane_takes_nothing_that_waits(*, is_slow: bool) -> None:
    paces = Paces(100)
    paces.of("wh_1", is_slow=is_slow).close(20.0)
    for now, known in ((6.0, is_slow), (21.0, not is_slow)):
        paces.known(now, is_slow=known)
        assert paces.opens_at(now) is not None
    assert paces.opens_at(21.0, [is_slow]) == 21.0
    assert paces.opens_at(21.0, [not is_slow]) is None, "its lane has no room"
    paces.known(22.0, is_slow=is_slow)
    assert paces.opens_at(22.0) is None


def test_when_a_rate_opens_an_event_may_start_or_the_alarm_is_set_again() -> None:
    for start in range(1_000):
        paces, now = Paces(100), 100_000 + start / 1000
        _attempt(paces.of("wh_1", is_slow=False), now, _answer(429, ms=1_000))
        now = round(now + 1, 3)
        paces.known(now, is_slow=False)
        opens_at = paces.opens_at(now)
        assert opens_at is not None
        # A timer of the event loop fires at a whole millisecond.
        at = round(opens_at, 3)
        [(_, news)] = paces.known(at, is_slow=False).values()
        assert news or paces.opens_at(at) is not None

"""Reading events after a cursor: each exactly once, for every order of the commits."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from models import database
from models.accounts.account import Account
from models.database import answers_at_once, appending, writing
from models.deliveries.event import ErasedEvent, Event, EventFloor
from models.deliveries.feed import START, Place, Wanted, newest
from tests import factories
from tests.conftest import Clock
from webhooks.kinds import EventKind

WAIT_SECONDS = 10


def _append(account: Account, subject: str, kind: str = EventKind.NUMBER_UPDATED) -> None:
    """An event in the current transaction."""
    Event.append(account.id, kind, {}, number_id="num_1", subject_id=subject)


def _all_after(account: Account, place: Place, limit: int = 3) -> tuple[list[str], Place]:
    """The subjects of all events that can be read now, page by page."""
    found: list[str] = []
    while True:
        events, after = Wanted(account.id).read(place, limit)
        if after == place:
            return found, place
        found += [event.subject_id for event in events]
        place = after


@pytest.fixture
def in_thread() -> Iterator[Callable[[Callable[[], None]], threading.Thread]]:
    """Runs a function in a thread, which is joined at the end of the test."""
    threads: list[threading.Thread] = []

    def start(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            finally:
                if not database.database.is_closed():
                    database.database.close()

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def test_a_cursor_survives_its_text() -> None:
    event = Place(2**63 - 1, "evt_01JD5ZB3T5V7X9Z1B3D5F7H9K2")
    for place in (event, START):
        assert Place.at(place.cursor) == place


def test_a_cursor_is_only_that_of_its_event_in_its_own_history() -> None:
    here = "0123456789ab"
    for place in (Place(5, "evt_01JD5ZB3T5V7X9Z1B3D5F7H9K2", here), START._replace(history=here)):
        given = Place.at(place.cursor)
        assert given is not None
        assert given.within(here) == place
        assert given.within("0123456789ac").event_id != place.event_id != given.event_id


@pytest.mark.parametrize(
    "text",
    ["", "0", "-", "g-", "0-evt_", "0-msg_01JD5ZB3T5V7X9Z1B3D5F7H9K2", "8000000000000000-", "1-0-"],
)
def test_other_text_is_no_cursor(text: str) -> None:
    assert Place.at(text) is None


def test_events_are_listed_in_the_order_of_creation_page_by_page(account: Account) -> None:
    with writing():
        for number in range(5):
            _append(account, f"{number}")
    with writing():
        _append(account, "5")
    assert _all_after(account, START) == ([*"012345"], newest(account.id))


def test_events_of_others_do_not_come(account: Account) -> None:
    other = Account.open("Other", "pro")
    with writing():
        _append(account, "mine")
        _append(other, "theirs")
    assert _all_after(account, START)[0] == ["mine"]


def test_without_events_there_is_a_cursor(account: Account) -> None:
    assert newest(account.id).key == START.key
    assert Wanted(account.id).read(START, 10) == ([], START)


def test_a_reader_of_a_rare_kind_continues_after_all_rows_read(account: Account) -> None:
    with writing():
        for number in range(5):
            _append(account, f"{number}")
    wanted = Wanted(account.id, kinds=(EventKind.NUMBER_BANNED,))
    assert wanted.read(START, 3) == ([], newest(account.id))


def test_a_search_for_few_among_many_takes_several_pages(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.deliveries.feed.MOST_LOOKED_AT", 4)
    for number in range(11):
        factories.event(account, EventKind.NUMBER_BANNED if number in {5, 10} else "number.updated")
    wanted, place, found = Wanted(account.id, kinds=(EventKind.NUMBER_BANNED,)), START, []
    for _ in range(3):
        events, after = wanted.read(place, 3)
        found.append(len(events))
        assert after > place
        place = after
    assert found == [0, 1, 1]
    assert wanted.read(place, 3) == ([], place)


def test_kind_and_number_and_time_select(account: Account, clock: Clock) -> None:
    factories.event(account, EventKind.NUMBER_BANNED, "num_1")
    since = clock.advance(minutes=30)
    factories.event(account, EventKind.NUMBER_BANNED, "num_2")
    factories.event(account, EventKind.NUMBER_UPDATED, "num_1")

    def found(wanted: Wanted) -> list[tuple[str, str]]:
        return [(event.kind, event.number_id) for event in wanted.read(START, 10)[0]]

    banned, updated = EventKind.NUMBER_BANNED, EventKind.NUMBER_UPDATED
    assert found(Wanted(account.id, kinds=(banned,))) == [(banned, "num_1"), (banned, "num_2")]
    assert found(Wanted(account.id, number_id="num_1")) == [(banned, "num_1"), (updated, "num_1")]
    assert found(Wanted(account.id, since=since)) == [(banned, "num_2"), (updated, "num_1")]
    assert found(Wanted(account.id, since=since + 1)) == []
    assert found(Wanted(account.id, since=0)) == found(Wanted(account.id))


def test_an_event_about_a_template_is_of_each_of_its_numbers(account: Account) -> None:
    payload = '{"data":{"numberIds":["num_1","num_2"]}}'
    factories.event(account, EventKind.TEMPLATE_UPDATED, "num_1", payload)
    for number_id, count in (("num_1", 1), ("num_2", 1), ("num_3", 0), ("num_", 0)):
        assert len(Wanted(account.id, number_id=number_id).read(START, 10)[0]) == count


def test_events_that_are_older_than_their_positions_come_first(account: Account) -> None:
    """Migrated ones."""
    for _ in range(4):
        factories.event(account)
    ids = [event.id for event in Event.select().order_by(Event.id)]
    with writing():
        Event.update(position=0).where(Event.id.in_(ids[:3])).execute()
    events, _ = Wanted(account.id).read(START, 10)
    assert [event.id for event in events] == ids


def test_positions_continue_after_all_events_are_removed(account: Account) -> None:
    factories.event(account)
    _, place = _all_after(account, START)
    with writing():
        EventFloor.note(Event.select())
        Event.delete().execute()
    assert Wanted(account.id).read(place, 10) == ([], place)
    factories.event(account)
    assert len(_all_after(account, place)[0]) == 1


@pytest.mark.sqlite("its positions follow the clock, else the last one")
@pytest.mark.parametrize("note", [None, ErasedEvent.note, EventFloor.note])
def test_positions_grow_while_the_clock_runs_backwards(
    account: Account, clock: Clock, note: Callable[[Any], None] | None
) -> None:
    """Also if the last event was removed."""
    factories.event(account)
    _, place = _all_after(account, START)
    if note is not None:
        with writing():
            note(Event.select())
            Event.delete().execute()
    clock.advance(minutes=-5)
    factories.event(account)
    assert len(_all_after(account, place)[0]) == 1


@pytest.mark.sqlite("it renumbers the rows of such a table")
def test_a_place_outlives_a_vacuum(account: Account) -> None:
    for _ in range(4):
        factories.event(account)
    events, place = Wanted(account.id).read(START, 2)
    with writing():
        Event.delete().where(Event.id == events[0].id).execute()
    database.database.execute_sql("VACUUM")
    assert len(_all_after(account, place)[0]) == 2


def test_an_event_that_is_committed_late_is_not_passed(
    account: Account, in_thread: Callable[[Callable[[], None]], threading.Thread]
) -> None:
    """A transaction stays open for two seconds, while others commit where the database lets them."""
    inside, leave = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with appending():
            _append(account, "early")
            # It has its number with its first statement that was sent.
            database.database.execute_sql("SELECT 1")
            inside.set()
            leave.wait(WAIT_SECONDS)
            _append(account, "late")

    def write() -> None:
        with appending():
            _append(account, "between")

    slow = in_thread(write_slowly)
    assert inside.wait(WAIT_SECONDS)
    quick = in_thread(write)
    seen, place = [], START
    until = time.monotonic() + 2
    while time.monotonic() < until:
        more, place = _all_after(account, place)
        seen += more
        time.sleep(0.05)
    assert seen == []
    # On SQLite it waits for the other one.
    assert quick.is_alive() == answers_at_once()
    leave.set()
    slow.join(WAIT_SECONDS)
    quick.join(WAIT_SECONDS)
    more, place = _all_after(account, place)
    assert sorted(seen + more) == ["between", "early", "late"]


def test_a_reader_misses_nothing_of_writers_that_commit_in_any_order(
    account: Account, in_thread: Callable[[Callable[[], None]], threading.Thread]
) -> None:
    rng = random.Random(7)  # noqa: S311 - not for secrets
    pauses = [[rng.uniform(0, 0.02) for _ in range(25)] for _ in range(6)]

    def writer(number: int) -> Callable[[], None]:
        def write() -> None:
            for count, pause in enumerate(pauses[number]):
                with appending():
                    _append(account, f"{number}.{count}.a")
                    database.database.execute_sql("SELECT 1")
                    time.sleep(pause)
                    _append(account, f"{number}.{count}.b")

        return write

    writers = [in_thread(writer(number)) for number in range(6)]
    seen, place = [], START
    while any(thread.is_alive() for thread in writers):
        more, place = _all_after(account, place)
        seen += more
    more, place = _all_after(account, place)
    wanted = [f"{n}.{count}.{half}" for n in range(6) for count in range(25) for half in "ab"]
    assert sorted(seen + more) == sorted(wanted)


def test_a_rolled_back_transaction_delays_no_event(account: Account) -> None:
    def write_and_break_down() -> None:
        with writing():
            _append(account, "undone")
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        write_and_break_down()
    factories.event(account)
    assert len(_all_after(account, START)[0]) == 1

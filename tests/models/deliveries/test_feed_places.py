"""A cursor after which events may be missing is refused, and no other one."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.database import database, writing
from models.deliveries import event_history
from models.deliveries.event import ErasedEvent, Event, EventFloor, order_by_commit
from models.deliveries.event_history import EventHistory
from models.deliveries.feed import (
    SLACK_MS,
    START,
    LostPlaceError,
    Place,
    Wanted,
    is_held_back,
    newest,
)
from models.messages.erasure import Erasure
from models.numbers.number import Number
from tasks import retention
from tests import factories
from tests.conftest import Clock, Configure


def _is_lost(account: Account, place: Place) -> bool:
    """Whether its cursor is refused, as a client gives it."""
    given = Place.at(place.cursor)
    assert given is not None
    try:
        Wanted(account.id).read(given, 10)
    except LostPlaceError:
        return True
    return False


def _places(account: Account, count: int) -> list[Place]:
    """The places after new events."""
    found = []
    for _ in range(count):
        factories.event(account)
        found.append(newest(account.id))
    return found


def _move_elsewhere(notice: Callable[[], None] = event_history.settle) -> None:
    """As if the database had been restored from another place."""
    event_history.settle()
    with writing():
        EventHistory.update(home="elsewhere").execute()
    notice()


@pytest.mark.parametrize("notice", [event_history.settle, event_history.advance])
def test_every_cursor_of_another_history_is_refused(
    account: Account, notice: Callable[[], None]
) -> None:
    """Also that of an event that is still there: those that followed it may be missing."""
    event_history.settle()
    places = [newest(account.id), *_places(account, 2)]
    assert not any(_is_lost(account, place) for place in places)
    _move_elsewhere(notice)
    assert all(_is_lost(account, place) for place in places)
    assert not _is_lost(account, newest(account.id))


def test_the_beginning_is_in_every_history(account: Account) -> None:
    _places(account, 2)
    _move_elsewhere()
    events, _ = Wanted(account.id).read(START, 10)
    assert len(events) == 2


def test_a_start_of_a_process_changes_no_history(account: Account) -> None:
    event_history.settle()
    [place] = _places(account, 1)
    event_history.settle()
    assert newest(account.id) == place


@pytest.mark.sqlite("a copy of its file")
def test_a_copied_file_has_another_history(account: Account, state: Stored) -> None:
    event_history.settle()
    [place] = _places(account, 1)
    file = state.database_path
    copy = file.with_suffix(".copy")
    copy.write_bytes(file.read_bytes())
    copy.replace(file)
    event_history.settle()
    assert _is_lost(account, place)


def _copy_into(file: Path, other: Path) -> None:
    """As docs/backup.md does. The other file keeps its number."""
    with closing(sqlite3.connect(file)) as begin, closing(sqlite3.connect(other)) as end:
        begin.backup(end)


@pytest.mark.sqlite("a backup of its file")
@pytest.mark.parametrize("notices", [event_history.settle, event_history.advance])
def test_a_file_with_the_content_of_a_backup_has_another_history(
    account: Account, state: Stored, tmp_path: Path, notices: Callable[[], None]
) -> None:
    """At the start of a process, and in the sweep of one that runs. Later backups are noticed again."""
    event_history.settle()
    for _ in range(2):
        [place] = _places(account, 1)
        _copy_into(state.database_path, tmp_path / "backup.db")
        factories.event(account)
        event_history.advance()
        assert not _is_lost(account, place)
        _copy_into(tmp_path / "backup.db", state.database_path)
        notices()
        assert _is_lost(account, place)


@pytest.mark.sqlite("a count beside its file")
@pytest.mark.parametrize("content", ["", "0", None])
def test_a_lost_count_changes_no_history(
    account: Account, state: Stored, content: str | None
) -> None:
    """A process died between the two writes, or the disk lost the second."""
    event_history.settle()
    event_history.advance()
    [place] = _places(account, 1)
    count = state.database_path.with_name("gateway.db.count")
    count.unlink()
    if content is not None:
        count.write_text(content)
    event_history.settle()
    event_history.advance()
    assert not _is_lost(account, place)
    assert int(count.read_text()) == 2


@pytest.mark.sqlite("the age of its lock file")
def test_a_file_in_a_new_folder_has_another_history(account: Account, state: Stored) -> None:
    """Its number may be that of a file that was deleted."""
    event_history.settle()
    [place] = _places(account, 1)
    lock = state.database_path.with_name("gateway.db.lock")
    lock.unlink()
    lock.touch()
    event_history.settle()
    assert _is_lost(account, place)


@pytest.fixture
def _positions(state: Stored) -> Iterator[Stored]:
    """Tests share the table on PostgreSQL, and so its default."""
    yield state
    with writing():
        order_by_commit(database)


@pytest.mark.usefixtures("_positions")
def test_events_from_a_server_that_was_far_ahead_stay_in_front(account: Account) -> None:
    """Restored ones have the transaction numbers of the other server. Later ones follow them."""
    for _ in range(3):
        factories.event(account)
    ids = [event.id for event in Event.select().order_by(Event.id)]
    with writing():
        Event.update(position=Event.position + 10**9).execute()
    _move_elsewhere()
    assert not is_held_back(2**48 - 1)
    events, place = Wanted(account.id).read(START, 10)
    assert [event.id for event in events] == ids
    later = factories.event(account)
    assert [event.id for event in Wanted(account.id).read(place, 10)[0]] == [later.id]
    _move_elsewhere()
    events, _ = Wanted(account.id).read(START, 10)
    assert [event.id for event in events] == [*ids, later.id]


def test_an_event_that_is_not_there_has_no_place(account: Account) -> None:
    """A snapshot of the disk has the same identity, and lacks the latest events."""
    first, second = _places(account, 2)
    with writing():
        Event.delete().where(Event.id == second.event_id).execute()
    assert _is_lost(account, second)
    assert not _is_lost(account, first)
    factories.event(account)
    assert _is_lost(account, second)
    for wrong in (
        first._replace(position=first.position + 1),
        Place(first.position, "", first.history),
        Place(first.position),
    ):
        assert _is_lost(account, wrong)
    assert _is_lost(Account.open("Other", "pro"), first)


def test_a_cursor_of_the_first_release_is_valid_while_its_event_is_there(account: Account) -> None:
    first, second = (place._replace(history="") for place in _places(account, 2))
    events, after = Wanted(account.id).read(first, 10)
    assert [event.id for event in events] == [second.event_id]
    assert after.history
    assert Wanted(account.id).read(second, 10) == ([], second)
    with writing():
        Event.delete().where(Event.id == second.event_id).execute()
    assert _is_lost(account, second)


def test_erased_events_leave_valid_places(account: Account, number: Number) -> None:
    person = factories.contact(number, phone="15551234567")
    factories.event(account, "contact.updated", number.id, subject_id=person.id)
    place = newest(account.id)
    Erasure.begin(person)
    assert ErasedEvent.select().count() == 1
    assert not Event.select().exists()
    assert Wanted(account.id).read(place, 10) == ([], place)
    later = factories.event(account)
    assert [event.id for event in Wanted(account.id).read(place, 10)[0]] == [later.id]


@pytest.mark.parametrize("is_erased", [False, True])
def test_a_reader_is_told_that_retention_removed_what_it_did_not_read(
    account: Account, clock: Clock, configure: Configure, *, is_erased: bool
) -> None:
    configure(RETENTION_DAYS="7")
    start = newest(account.id)
    first, second, third = _places(account, 3)
    if is_erased:
        with writing():
            ErasedEvent.note(Event.select())
            Event.delete().execute()
    clock.advance(days=8)
    [latest] = _places(account, 1)
    retention.remove_old()
    assert [event.id for event in Event.select()] == [latest.event_id]
    assert not ErasedEvent.select().exists()
    assert all(_is_lost(account, place) for place in (start, first, second))
    # This one had read all of them.
    assert not _is_lost(account, third)
    assert len(Wanted(account.id).read(START, 10)[0]) == 1


def test_floors_rise_only(account: Account) -> None:
    other = Account.open("Other", "pro")
    places = _places(account, 3)
    [theirs] = _places(other, 1)
    for ids in (
        [places[1].event_id, theirs.event_id],
        [places[0].event_id],
        [places[2].event_id],
    ):
        with writing():
            EventFloor.note(Event.select().where(Event.id.in_(ids)))
    floors = {row.account_id: row.event_id for row in EventFloor.select()}
    assert floors == {account.id: places[2].event_id, other.id: theirs.event_id}


def test_events_that_are_removed_while_they_are_read_are_not_skipped(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = _places(account, 3)
    between: Callable[..., Any] = Wanted._between

    def remove_first(*arguments: Any) -> Any:
        with writing():
            removed = Event.select().where(Event.id == second.event_id)
            EventFloor.note(removed)
            Event.delete().where(Event.id == second.event_id).execute()
        return between(*arguments)

    monkeypatch.setattr(Wanted, "_between", remove_first)
    assert _is_lost(account, first)


@pytest.mark.parametrize("event_id", ["", "evt_ZZZZZZZZZZZZZZZZZZZZZZZZZZ"])
def test_without_a_time_everything_is_read_again(event_id: str) -> None:
    assert Place(1, event_id).earliest() == 0


def test_the_time_to_read_from_allows_for_clocks_that_differ(
    account: Account, clock: Clock
) -> None:
    [place] = _places(account, 1)
    assert place.earliest() == clock.at - SLACK_MS
    clock.advance(days=-1)
    assert place.earliest() == clock.at - SLACK_MS


def test_a_change_between_two_queries_is_noticed(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pooler may connect each transaction to another server."""
    first, _ = _places(account, 2)
    start: Callable[[Wanted], Any] = Wanted._start

    def move(wanted: Wanted) -> Any:
        with writing():
            EventHistory.delete().execute()
            EventHistory.create(id="another", home="", base=0)
        return start(wanted)

    monkeypatch.setattr(Wanted, "_start", move)
    assert _is_lost(account, first._replace(history=""))

"""Broadcasts over time: their schedule, their end, what is removed, and the erasure of a recipient."""

import pytest

from models.accounts.account import Account
from models.broadcasts.broadcast import Broadcast, BroadcastState
from models.broadcasts.recipient import BroadcastRecipient, Skipped
from models.database import fetch, writing
from models.messages.erasure import Erasure
from models.numbers.number import Number
from services import broadcasts
from tasks import retention
from tests import factories
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("clock")
ANN, BEN = "4915100000001", "4915100000002"


def _recipients(row: Broadcast) -> dict[str, str | None]:
    theirs = BroadcastRecipient.list_id == row.list_id
    return {
        each.to_number: each.skipped for each in fetch(BroadcastRecipient.select().where(theirs))
    }


def _scheduled(number: Number, clock: Clock, hours: float, **values: int) -> Broadcast:
    row = factories.broadcast(number, ANN)
    with writing():
        row.assign({"start_at": clock.at + round(hours * 3_600_000), **values})
    return broadcasts.start(row)


def test_a_scheduled_broadcast_runs_at_its_time_and_not_before(
    number: Number, clock: Clock
) -> None:
    row = _scheduled(number, clock, hours=2)
    clock.advance(hours=2, milliseconds=-1)
    broadcasts.move_due()
    assert Broadcast.get_by_id(row.id).state == BroadcastState.SCHEDULED
    clock.advance(milliseconds=1)
    broadcasts.move_due()
    found = Broadcast.get_by_id(row.id)
    assert (found.state, found.started_at) == (BroadcastState.RUNNING, clock.at)


def test_recipients_do_not_wait_after_the_clock_was_set_back(number: Number, clock: Clock) -> None:
    row = factories.started(number, ANN, BEN)
    clock.advance(seconds=-50)
    claimed = BroadcastRecipient.claim_many(30_000, 10, part=row.list_id)
    assert [each.to_number for each in claimed] == [ANN, BEN]


def test_one_that_is_paused_before_its_time_waits_for_it_again(
    number: Number, clock: Clock
) -> None:
    row = broadcasts.pause(_scheduled(number, clock, hours=2))
    clock.advance(hours=1)
    assert broadcasts.resume(row).state == BroadcastState.SCHEDULED
    row = broadcasts.pause(Broadcast.get_by_id(row.id))
    clock.advance(hours=2)
    broadcasts.move_due()
    assert Broadcast.get_by_id(row.id).state == BroadcastState.PAUSED
    assert broadcasts.resume(row).state == BroadcastState.RUNNING


@pytest.mark.parametrize("before", ["scheduled", "running", "paused"])
def test_one_that_expires_leaves_out_who_waits(number: Number, clock: Clock, before: str) -> None:
    row = _scheduled(
        number, clock, 9 if before == "scheduled" else 0, expires_at=clock.at + 3_600_000
    )
    if before == "paused":
        broadcasts.pause(row)
    clock.advance(hours=1)
    broadcasts.move_due()
    broadcasts.close_ended()
    found = Broadcast.get_by_id(row.id)
    assert (found.state, found.ended_at) == (BroadcastState.EXPIRED, clock.at)
    assert _recipients(row) == {ANN: Skipped.EXPIRED}


def test_an_old_broadcast_is_removed_with_its_recipients(number: Number, clock: Clock) -> None:
    old, draft = factories.started(number, ANN, BEN), factories.broadcast(number, ANN)
    broadcasts.cancel(old)
    broadcasts.close_ended()
    clock.advance(days=20)
    broadcasts.cancel(kept := factories.started(number, ANN))
    broadcasts.close_ended()
    clock.advance(days=11)
    retention.remove_old()
    assert [row.id for row in Broadcast.all()] == [kept.id]
    assert {row.list_id for row in fetch(BroadcastRecipient.select())} == {kept.id}
    assert draft.id not in {kept.id, old.id}


def test_one_that_still_runs_is_never_too_old(number: Number, clock: Clock) -> None:
    row = factories.started(number, ANN)
    clock.advance(days=90)
    retention.remove_old()
    assert Broadcast.all() == [row]


def test_an_erased_person_is_no_recipient_of_the_number_any_more(
    number: Number, clock: Clock
) -> None:
    other = factories.active_number(Account.open("Other", "pro"), "1002", "2002")
    rows = factories.started(number, ANN, BEN), factories.started(other, ANN)
    assert clock.at
    Erasure.begin(factories.contact(number, phone=ANN))
    assert _recipients(rows[0]) == {"": Skipped.ERASED, BEN: None}
    assert _recipients(rows[1]) == {ANN: None}
    [left] = fetch(BroadcastRecipient.select().where(BroadcastRecipient.to_number == ""))
    assert (left.parameters_json, left.due_at) == ("{}", None)

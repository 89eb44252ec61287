"""A broadcast in a night in which clocks change: everybody gets one message, when their day begins."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from models.broadcasts.broadcast import BroadcastState
from models.broadcasts.recipient import BroadcastRecipient, Entry
from models.database import writing
from models.numbers.number import Number
from services import broadcasts
from services.broadcast_batches import Check, begin
from services.local_hours import MARKETING_HOURS
from tests import factories
from tests.conftest import Clock
from tests.fake_templates import definition, known

BERLIN, LONDON, NEW_YORK = "4917112345678", "447911123456", "12125551234"
SYDNEY, BRISBANE, INDIA = "61291234567", "61731234567", "919812345678"
CONTENT = {"name": "offer", "language": {"code": "en_US"}}
# The first evening, and when the day begins for each.
NIGHTS = {
    "Europe in spring": (
        "2026-03-28T22:00",
        {BERLIN: "2026-03-29T06:00", LONDON: "2026-03-29T07:00", INDIA: "2026-03-29T02:30"},
    ),
    "Europe in autumn": (
        "2026-10-24T22:00",
        {BERLIN: "2026-10-25T07:00", LONDON: "2026-10-25T08:00", NEW_YORK: "2026-10-24T22:00"},
    ),
    "America in autumn": (
        "2026-11-01T02:00",
        {BERLIN: "2026-11-01T07:00", NEW_YORK: "2026-11-01T13:00"},
    ),
    "Australia in spring": (
        "2026-10-03T12:00",
        {SYDNEY: "2026-10-03T21:00", BRISBANE: "2026-10-03T22:00", BERLIN: "2026-10-03T12:00"},
    ),
}


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _half_hours(clock: Clock, since: datetime) -> Iterator[datetime]:
    """Each half hour of a day and a half, to which the clock is set."""
    for step in range(72):
        at = since + step * timedelta(minutes=30)
        clock.at = round(at.timestamp() * 1000)
        yield at


@pytest.mark.parametrize("night", NIGHTS)
def test_everybody_has_one_message_at_the_first_hour_of_the_day(
    number: Number, clock: Clock, night: str
) -> None:
    evening, expected = NIGHTS[night]
    clock.at = round(_at(evening).timestamp() * 1000)
    known(
        number, definition("offer", "en_US", {"type": "BODY", "text": "Hi"}, category="MARKETING")
    )
    begins, ends = MARKETING_HOURS
    people = [Entry(to, {}) for to in expected]
    row = broadcasts.create(
        number,
        CONTENT,
        people,
        name="Night",
        type="template",
        hours_from=begins,
        hours_until=ends,
    )
    row = broadcasts.start(row)
    sent = list[tuple[str, datetime]]()
    for at in _half_hours(clock, _at(evening)):
        while (batch := begin(row, 10, Check.NONE)).claimed:
            sent += [(send.message.to_number, at) for send in batch.sends]
    assert sorted(sent) == sorted((to, _at(time)) for to, time in expected.items())
    assert BroadcastRecipient.next_due(row.list_id) is None


@pytest.mark.parametrize(("start", "utc"), [("+02:00", "00:30"), ("+01:00", "01:30")])
def test_an_hour_that_comes_twice_is_named_by_its_offset(
    number: Number, clock: Clock, start: str, utc: str
) -> None:
    clock.at = round(_at("2026-10-24T12:00").timestamp() * 1000)
    at = datetime.fromisoformat(f"2026-10-25T02:30:00{start}")
    row = factories.broadcast(number, BERLIN)
    with writing():
        row.assign({"start_at": round(at.timestamp() * 1000)})
    row = broadcasts.start(row)
    began = []
    for now in _half_hours(clock, _at("2026-10-24T22:00")):
        broadcasts.move_due()
        if type(row).get_by_id(row.id).state == BroadcastState.RUNNING:
            began.append(now)
    assert began[0] == _at(f"2026-10-25T{utc}")

"""How webhooks share the room for deliveries, by number and by bytes."""

import pytest

from models.deliveries.room import Part, Room, divide
from models.work import NO_LIMIT


def test_webhooks_get_equal_parts_rounded_up_until_nothing_is_left() -> None:
    lane = Room(5, 100)
    assert [*divide([[lane]] * 3)] == [Part(2, 34), Part(2, 33), Part(1, 33)]
    assert (lane.deliveries, lane.size, lane.waiting) == (0, 0, 0)


def test_the_smallest_room_decides_and_leaves_the_rest_to_the_others() -> None:
    lane, account, other = Room(10), Room(3), Room(100)
    parts = [*divide([[lane, account], [lane, account], [lane, other]])]
    assert [part.deliveries for part in parts] == [2, 1, 7]
    assert min(part.size for part in parts) >= NO_LIMIT // 3


def test_a_room_that_is_more_than_full_gives_nothing() -> None:
    lane, account = Room(10, -5), Room(4, 100)
    assert [*divide([[lane, account]])] == [Part(4, 0)]
    assert account.size == 100


@pytest.mark.parametrize(
    ("room", "is_full"),
    [(Room(1, 1), False), (Room(0, 1), True), (Room(1, 0), True), (Room(-1, 5), True)],
)
def test_a_room_is_full_without_a_delivery_or_a_byte(room: Room, *, is_full: bool) -> None:
    assert room.is_full is is_full

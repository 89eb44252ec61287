"""Room for deliveries, by number and bytes, and how the webhooks of a claim share it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from models.work import NO_LIMIT


class Part(NamedTuple):
    """The most deliveries, and the bytes after which no further one is taken.

    So a delivery that is larger than its part never waits for ever.
    """

    deliveries: int
    size: int


@dataclass
class Room:
    """What is left for several webhooks. ``waiting`` counts those that have not got their part yet."""

    deliveries: int
    size: int = NO_LIMIT
    waiting: int = 0

    @property
    def is_full(self) -> bool:
        return min(self.deliveries, self.size) <= 0

    @property
    def part(self) -> Part:
        """An equal part for each waiting webhook, rounded up."""
        return Part(-(-self.deliveries // self.waiting), -(-self.size // self.waiting))

    def take(self, part: Part) -> None:
        self.deliveries -= part.deliveries
        self.size -= part.size
        self.waiting -= 1


def divide(shared: Sequence[Sequence[Room]]) -> Iterator[Part]:
    """The part of each webhook, in this order, of all the rooms that it shares."""
    for rooms in shared:
        for room in rooms:
            room.waiting += 1
    for rooms in shared:
        parts = [room.part for room in rooms]
        part = Part(*(max(0, min(values)) for values in zip(*parts, strict=True)))
        for room in rooms:
            room.take(part)
        yield part

"""The people whom each number reached outside the customer service window (Cloud API, Messaging limits)."""

from __future__ import annotations


class Audiences:
    """The people of each number, with the time of the last message that counts (Unix seconds)."""

    def __init__(self) -> None:
        # The person whose last message is the oldest comes first.
        self._reached: dict[str, dict[str, float]] = {}

    def add(self, number_id: str, person: str, at: float) -> None:
        """A message outside the window was accepted."""
        reached = self._reached.setdefault(number_id, {})
        reached.pop(person, None)
        reached[person] = at

    def has_room(self, number_id: str, person: str, since: float, most: float) -> bool:
        """Whether the number may reach this person too. ``most`` is the limit for the time from ``since`` on.

        Forgets the people from before that time.
        """
        reached = self._reached.get(number_id, {})
        while reached and next(iter(reached.values())) <= since:
            del reached[next(iter(reached))]
        return person in reached or len(reached) < most

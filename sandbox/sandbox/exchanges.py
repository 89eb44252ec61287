"""Messages between numbers and people, and the time of each person's last message."""

from __future__ import annotations

from sandbox.entities import Inbound, Message
from sandbox.people import People

# A number's id and the key of a person.
Pair = tuple[str, str]


class Exchanges:
    """The messages of each pair of number and person, in the order of their acceptance."""

    def __init__(self, people: People) -> None:
        self._people = people
        self.of: dict[Pair, list[Message | Inbound]] = {}
        # Unix seconds of the last message from the person, and of the last that came by an
        # advertisement (Cloud API, Pricing: free entry points).
        self.last_inbound: dict[Pair, float] = {}
        self.last_referral: dict[Pair, float] = {}

    def add_message(self, message: Message) -> None:
        """A message to a person."""
        self._add(message.number_id, message.to, message)

    def add_inbound(self, inbound: Inbound) -> None:
        """A message from a person, or an update about the person, which opens no customer service window."""
        pair = self._add(inbound.number_id, inbound.person, inbound)
        if inbound.item.get("type") != "system":
            self.last_inbound[pair] = inbound.at
        if "referral" in inbound.item:
            self.last_referral[pair] = inbound.at

    def _add(self, number_id: str, name: str, thing: Message | Inbound) -> Pair:
        pair = (number_id, self._people.key_of(name))
        if pair not in self.of:
            self.of[pair] = []
            self._people.add_user_id(pair[1])
        self.of[pair].append(thing)
        return pair

    def move(self, old: Pair, new: Pair) -> None:
        """Continue under the person's new key, together with what is there already."""
        things = self.of.pop(old, None)
        if things is not None:
            self.of[new] = sorted([*self.of.get(new, ()), *things], key=_time)
        for times in (self.last_inbound, self.last_referral):
            if old in times:
                times[new] = max(times.pop(old), times.get(new, 0.0))


def _time(thing: Message | Inbound) -> float:
    return thing.accepted_at if isinstance(thing, Message) else thing.at

"""The recipients of a broadcast in a storm, and what may become of each of them."""

import random
from dataclasses import dataclass
from typing import Self

from contract_tests.broadcasts import FIRST, sale
from contract_tests.harness import Customer

# People with a fixed result at the sandbox, with the statuses that their messages may have at the end. The
# one who gets no status stays unknown if the response is lost.
FATES = {
    "15550100001": {"failed"},
    "15550100002": {"failed"},
    "15550100004": {"read"},
    "15550100005": {"read"},
    "15550100006": {"sent", "unknown"},
    "15550100007": {"delivered"},
}
# One person in so many opted out.
OPTED_OUT = 50
TEMPLATE = sale("{{name}}")


@dataclass(frozen=True)
class Audience:
    """People in a random order, and those of them who opted out."""

    people: list[str]
    opted_out: set[str]

    @classmethod
    def of(cls, count: int, dice: random.Random) -> Self:
        """So many people."""
        ordinary = [str(FIRST + at) for at in range(count - len(FATES))]
        people = [*ordinary, *FATES]
        dice.shuffle(people)
        return cls(people, set(ordinary[::OPTED_OUT]))

    @property
    def table(self) -> str:
        """A file with them."""
        return "to,name\n" + "".join(f"{to},Ann\n" for to in self.people)

    def opt_out(self, customer: Customer) -> None:
        """Let those opt out who are to get no message."""
        for person in self.opted_out:
            body = {"person": person}
            customer.request("POST", "/suppressions", json=body).raise_for_status()

    @staticmethod
    def ends_of(person: str) -> set[str]:
        """The statuses that an accepted message to this person may have at the end."""
        return FATES.get(person, {"read"})

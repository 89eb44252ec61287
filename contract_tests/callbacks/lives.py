"""Messages of some days and numbers, the statuses that the platform sends, and the expected usage."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from ulid import ULID

from contract_tests.callbacks.platform import messages, new_wamid
from contract_tests.callbacks.statuses import FREE, PERSON, PRICING, told

MARKETING = PRICING | {"category": "marketing"}
PRICINGS = (PRICING, MARKETING, FREE, {"pricing_model": "PMP"})
# Day, number, direction, category and billable.
Kind = tuple[str, str, str, str | None, bool]


@dataclass(frozen=True)
class Line:
    """A connected number. ``id`` is the gateway's, ``network_id`` the platform's."""

    account_id: str
    id: str
    network_id: str


@dataclass(frozen=True)
class Life:
    """A message and its statuses in order."""

    line: Line
    created_at: datetime
    wamid: str
    statuses: Sequence[dict[str, Any]]

    @property
    def day(self) -> str:
        """The day on which the message counts."""
        return self.created_at.date().isoformat()

    @property
    def row(self) -> tuple[Any, ...]:
        """The values of COLUMNS after the platform has accepted the message."""
        identifier = f"msg_{ULID.from_datetime(self.created_at)}"
        at = round(self.created_at.timestamp() * 1000)
        numbers = (self.line.account_id, self.line.id, "OUTBOUND", "15550783881", PERSON)
        return (identifier, *numbers, "text", '{"body": "Hi"}', "sent", self.wamid, at)

    def kind(self) -> Kind | None:
        """The expected usage: the pricing of the furthest status that has one, or None."""
        priced = [status["pricing"] for status in self.statuses if "pricing" in status]
        if not priced:
            return None
        last = priced[-1]
        billable = bool(last.get("billable"))
        return self.day, self.line.id, "OUTBOUND", last.get("category"), billable


COLUMNS = (
    "id, account_id, number_id, direction, from_number, to_number, type, body_json, status,"
    " wa_message_id, created_at"
)


def lives(count: int, lines: Sequence[Line], first: date, days: int, seed: int) -> list[Life]:
    """``count`` messages, spread over the numbers and days."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    midnight = datetime.combine(first, datetime.min.time(), UTC)
    return [
        Life(
            dice.choice(lines),
            midnight + timedelta(milliseconds=dice.randrange(days * 86_400_000)),
            new_wamid(),
            _statuses(dice),
        )
        for _ in range(count)
    ]


def _statuses(dice: random.Random) -> list[dict[str, Any]]:
    """A failed message has no price. The price of another may change with its delivery, or be missing."""
    if dice.random() < 0.1:
        return [told("sent"), told("failed", errors=[{"code": 131049, "title": "Held back"}])]
    first, then = dice.choice(PRICINGS), dice.choice(PRICINGS)
    changed = then if dice.random() < 0.3 else first
    steps = [("sent", first), ("delivered", changed), ("read", dice.choice((changed, None)))]
    reached = steps[: dice.randint(1, 3)]
    return [
        told(word, **({} if pricing is None else {"pricing": pricing})) for word, pricing in reached
    ]


def changes(given: Sequence[Life], seed: int, inbound: Sequence[Life] = ()) -> list[dict[str, Any]]:
    """All statuses in random order, some twice: up to 20 items of a number in each change."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    by_line: dict[Line, list[tuple[str, dict[str, Any]]]] = {}
    for life in given:
        for status in life.statuses:
            item = {"id": life.wamid, "timestamp": _seconds(life)} | status
            by_line.setdefault(life.line, []).extend([("statuses", item)] * dice.choice((1, 1, 2)))
    for place, life in enumerate(inbound):
        # Each message is from another person, because one person's messages come in the order of their times.
        text = {"from": str(16_505_600_000 + place), "type": "text", "text": {"body": "Hi"}}
        item = text | {"id": life.wamid, "timestamp": _seconds(life)}
        by_line.setdefault(life.line, []).extend([("messages", item)] * dice.choice((1, 1, 2)))
    made = []
    for line, items in by_line.items():
        dice.shuffle(items)
        while items:
            size = dice.randint(1, 20)
            part, items = items[:size], items[size:]  # noqa: PLW2901 - the rest
            arrays: dict[str, list[dict[str, Any]]] = {}
            for name, item in part:
                arrays.setdefault(name, []).append(item)
            made.append(messages(line.network_id, **arrays))
    dice.shuffle(made)
    return made


def _seconds(life: Life) -> str:
    return str(int(life.created_at.timestamp()))


def counted(outbound: Sequence[Life], inbound: Sequence[Life]) -> Counter[Kind]:
    """The number of messages of each kind."""
    kinds = [kind for life in outbound if (kind := life.kind()) is not None]
    kinds += [(life.day, life.line.id, "INBOUND", None, False) for life in inbound]
    return Counter(kinds)

"""Usage is counted once, for every order and form of the network's callbacks."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from models import clock as models_clock
from models.database import reading, write
from models.messages.message import Message
from models.numbers.number import Number
from models.reports.usage import UsageTotal, counting
from services import ingestion
from tasks import ingest
from tasks.retention import remove_old
from tests import factories
from tests.conftest import Clock
from tests.tasks.callbacks import (
    accepted_message,
    ingest_again,
    ingest_now,
    messages,
    refusing_text,
    status_of,
    store,
    text,
)

# The day of the tests' clock.
TODAY = "2026-11-20"
pytestmark = pytest.mark.usefixtures("clock")
UTILITY = {"billable": True, "pricing_model": "PMP", "category": "utility", "type": "regular"}
FREE = UTILITY | {"billable": False, "type": "free_customer_service"}
MARKETING = UTILITY | {"category": "marketing"}


def totals() -> dict[tuple[Any, ...], int]:
    """The number of messages by day, direction, category and billable."""
    with reading():
        rows = UsageTotal.select().where(UsageTotal.total != 0)
        found = Counter[tuple[Any, ...]]()
        for row in rows:
            found[row.day, row.direction, row.category, row.billable] += row.total
        return found


def outbound(category: str = "utility", *, billable: bool = True, day: str = TODAY) -> Any:
    """The key in ``totals`` of a message that was sent."""
    return day, "OUTBOUND", category, billable


INBOUND = (TODAY, "INBOUND", "", False)


def _told(status: str, pricing: object = None, wamid: str = "wamid.1") -> dict[str, Any]:
    priced = {} if pricing is None else {"pricing": pricing}
    return messages(statuses=[status_of(wamid, status, **priced)])


@pytest.mark.parametrize(
    "order", [*permutations([("sent", UTILITY), ("delivered", MARKETING), ("read", None)])]
)
@pytest.mark.parametrize("together", [1, 3])
def test_a_message_counts_once_by_the_price_of_its_furthest_status(
    number: Number, order: tuple[tuple[str, object], ...], together: int
) -> None:
    message = accepted_message(number)
    entries = [_told(*each) for each in order]
    for first in range(0, len(entries), together):
        ingest_now(*entries[first : first + together])
    assert totals() == {outbound("marketing"): 1}
    assert json.loads(Message.get_by_id(message.id).pricing_json or "")["category"] == "marketing"


def test_a_repeated_status_counts_once(number: Number) -> None:
    accepted_message(number)
    both = [_told("sent", UTILITY), _told("delivered", UTILITY)]
    ingest_now(*both, *both, messages(messages=[text()]), messages(messages=[text()]))
    ingest_now(*both, messages(messages=[text()]))
    assert totals() == {outbound(): 1, INBOUND: 1}


def test_a_message_without_a_price_does_not_count(number: Number) -> None:
    accepted_message(number)
    factories.outbound(number)
    ingest_now(_told("failed"), _told("failed", "for free"))
    assert totals() == {}


def test_a_price_without_details_is_neither_billable_nor_in_a_category(
    number: Number,
) -> None:
    accepted_message(number)
    ingest_now(_told("sent", {"pricing_model": "PMP"}))
    assert totals() == {outbound("", billable=False): 1}


def test_a_price_of_another_kind_alone_moves_nothing(number: Number) -> None:
    accepted_message(number)
    ingest_now(_told("sent", FREE), _told("delivered", FREE | {"type": "free_entry_point"}))
    assert totals() == {outbound(billable=False): 1}


def test_a_message_counts_on_the_day_of_its_making(number: Number, clock: Clock) -> None:
    accepted_message(number)
    clock.advance(days=2)
    accepted_message(number, "wamid.2")
    ingest_now(_told("sent", UTILITY), _told("sent", UTILITY, "wamid.2"))
    assert totals() == {outbound(): 1, outbound(day="2026-11-22"): 1}


@pytest.mark.parametrize("category", ["=1+1", "a,b", "\ud800", "\0", "x" * 65, "-"])
def test_a_category_that_is_no_word_is_left_out(number: Number, category: str) -> None:
    accepted_message(number)
    ingest_now(_told("sent", UTILITY | {"category": category}))
    assert totals() == {outbound(""): 1}


def test_a_rolled_back_status_does_not_count_and_a_repeated_one_counts_once(number: Number) -> None:
    """A bad item rolls back the transaction of all. Then each is ingested by itself."""
    accepted_message(number)
    store(_told("sent", UTILITY), messages(messages=[text("wamid.A")]))
    bad = store(messages(messages=[text("wamid.B", text={"body": "bad"}), text("wamid.C")]))
    with refusing_text("bad"):
        ingest.work_off()
    assert totals() == {outbound(): 1, INBOUND: 2}
    ingest_again()
    assert totals() == {outbound(): 1, INBOUND: 3}
    assert bad.tries == 0


def test_a_status_that_came_before_its_message_counts_when_that_is_known(number: Number) -> None:
    ingest_now(_told("delivered", UTILITY))
    assert totals() == {}
    accepted_message(number)
    ingestion.match_parked()
    assert totals() == {outbound(): 1}


def test_transactions_beside_each_other_count_the_same_without_a_deadlock(number: Number) -> None:
    """Each changes many totals, in its own order."""
    threads, rounds = 6, 5
    categories = [f"category_{n}" for n in range(100)]

    def count_all(thread: int) -> None:
        dice = random.Random(thread)  # noqa: S311 - no secret
        for _ in range(rounds):
            order = dice.sample(categories, len(categories))
            write(partial(_count, number, order), f"thread {thread}")

    factories.at_once(*[partial(count_all, thread) for thread in range(threads)])
    assert totals() == {outbound(c, billable=False): threads * rounds for c in categories}


def _count(number: Number, categories: Sequence[str]) -> None:
    message = Message(
        account=number.account_id,
        number=number.id,
        direction="OUTBOUND",
        created_at=models_clock.now(),
    )
    with counting() as count:
        for category in categories:
            message.pricing_json = json.dumps({"category": category})
            count.add(message)


def test_totals_outlive_the_messages(number: Number, clock: Clock) -> None:
    accepted_message(number)
    ingest_now(_told("delivered", UTILITY), messages(messages=[text()]))
    before = totals()
    clock.advance(days=400)
    remove_old()
    assert Message.select().count() == 0
    assert totals() == before == {outbound(): 1, INBOUND: 1}


def test_a_status_of_a_message_that_was_removed_counts_no_more(
    number: Number, clock: Clock
) -> None:
    accepted_message(number)
    ingest_now(_told("sent", UTILITY))
    clock.advance(days=400)
    remove_old()
    ingest_now(_told("delivered", MARKETING))
    assert totals() == {outbound(): 1}

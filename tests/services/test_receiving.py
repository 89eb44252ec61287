"""Callbacks at the door: those that come during a transaction share the next one."""

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import psycopg
import pytest
from peewee import OperationalError

from contract_tests.stored import Stored
from models import database
from models.database.outage import BusyError
from models.messages.callback import Callback
from models.messages.message import Message
from models.numbers.number import Number
from networks.items import StatusUpdate
from services import ingestion, receiving
from services.ingestion import Read
from services.message_status import SentMessages
from services.receiving import MOST_OF_ONE, Door
from tasks import ingest
from tests.conftest import Clock
from tests.tasks.callbacks import kinds, messages, refusing_text, text


def _body(wamid: str, **changes: Any) -> bytes:
    return json.dumps({"entry": [messages(messages=[text(wamid, **changes)])]}).encode()


def _of_account(account: str, wamid: str) -> bytes:
    """Like _body, for a business account with this id."""
    return _body(wamid).replace(b'"2001"', json.dumps(account).encode(), 1)


def _take(*bodies: bytes) -> list[BaseException | None]:
    """Take these callbacks at the same time. Returns the errors."""

    async def take() -> list[BaseException | None]:
        door = Door()
        return await asyncio.gather(*map(door.take, bodies), return_exceptions=True)

    return asyncio.run(take())


def _fail_after(monkeypatch: pytest.MonkeyPatch, turns: int, error: Exception) -> None:
    """Let the first transactions succeed, and the others fail."""
    left = [*range(turns)]

    def ingest(callbacks: Sequence[Read], *, are_stored: bool) -> int:
        if not left:
            raise error
        left.pop()
        return ingestion.ingest_together(callbacks, are_stored=are_stored)

    monkeypatch.setattr(receiving, "ingest_together", ingest)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The callbacks of each transaction, which has time for all of them."""
    monkeypatch.setattr(ingestion, "MOST_SECONDS", 60)
    counts = list[int]()

    def count(callbacks: Sequence[Read], *, are_stored: bool) -> int:
        done = ingestion.ingest_together(callbacks, are_stored=are_stored)
        counts.append(done)
        return done

    monkeypatch.setattr(receiving, "ingest_together", count)
    return counts


def test_callbacks_that_wait_share_a_transaction(number: Number, transactions: list[int]) -> None:
    assert _take(*(_body(f"wamid.{n}") for n in range(5))) == [None] * 5
    assert transactions == [5]
    assert Message.select().where(Message.number == number).count() == 5
    assert kinds() == ["message.received"] * 5
    assert Callback.select().count() == 0


@pytest.mark.usefixtures("number")
def test_a_transaction_has_a_bounded_number_of_callbacks_and_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch, transactions: list[int]
) -> None:
    monkeypatch.setattr(receiving, "MOST_TOGETHER", 2)
    assert _take(*(_body(f"wamid.{n}") for n in range(3))) == [None] * 3
    assert transactions == [2, 1]
    monkeypatch.setattr(ingestion, "MOST_SECONDS", 0)
    assert _take(*(_body(f"wamid.{n}") for n in range(3, 5))) == [None] * 2
    assert transactions[2:] == [1, 1]
    assert kinds() == ["message.received"] * 5


@pytest.mark.usefixtures("number")
def test_callbacks_are_stored_while_many_of_their_account_wait(transactions: list[int]) -> None:
    bodies = [_body(f"wamid.{n}") for n in range(MOST_OF_ONE + 2)]
    assert _take(*bodies, _of_account("other", "wamid.other")) == [None] * (MOST_OF_ONE + 3)
    assert sum(transactions) == MOST_OF_ONE + 1
    assert [bytes(each.body) for each in Callback.select()] == bodies[-2:]


@pytest.mark.usefixtures("number")
def test_callbacks_are_stored_while_many_of_all_accounts_wait(
    monkeypatch: pytest.MonkeyPatch, transactions: list[int]
) -> None:
    monkeypatch.setattr(receiving, "MOST_WAITING", 3)
    _take(*(_of_account(f"account{n}", f"wamid.{n}") for n in range(5)))
    assert sum(transactions) == 3
    assert Callback.select().count() == 2


@pytest.mark.usefixtures("number", "transactions")
def test_accounts_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MOST_TOGETHER", 2)
    theirs = [_of_account("one", f"wamid.1{n}") for n in range(4)]
    _take(*theirs, *(_of_account("two", f"wamid.2{n}") for n in range(2)))
    ingested = [message.wa_message_id for message in Message.select().order_by(Message.id)]
    assert ingested == [f"wamid.{name}" for name in ("10", "20", "11", "21", "12", "13")]


@pytest.mark.usefixtures("number", "transactions")
def test_callbacks_that_cannot_be_ingested_are_stored_with_those_beside_them() -> None:
    bodies = [_body("wamid.A"), _body("wamid.B", text={"body": "bad"})]
    with refusing_text("bad"):
        assert _take(*bodies) == [None, None]
    assert sorted(bytes(each.body) for each in Callback.select()) == sorted(bodies)
    assert kinds() == []


@pytest.mark.usefixtures("number")
def test_a_stored_callback_keeps_the_time_of_its_arrival(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """An erasure that begins later removes it, or what is about the person in it."""
    arrived = clock.at

    def fail(_: object) -> None:
        clock.advance(seconds=1)
        raise ValueError("no callback can be read")

    monkeypatch.setattr(receiving, "read", fail)
    assert _take(_body("wamid.A")) == [None]
    assert [each.received_at for each in Callback.select()] == [arrived]


@pytest.mark.usefixtures("number")
def test_a_wait_for_locks_takes_no_time_from_the_callbacks(
    monkeypatch: pytest.MonkeyPatch, transactions: list[int]
) -> None:
    def wait(updates: Sequence[StatusUpdate]) -> SentMessages:
        time.sleep(0.3)
        return SentMessages(updates)

    monkeypatch.setattr(ingestion, "SentMessages", wait)
    monkeypatch.setattr(ingestion, "MOST_SECONDS", 0.25)
    assert _take(*(_body(f"wamid.{n}") for n in range(3))) == [None] * 3
    assert transactions[0] > 1


@pytest.mark.usefixtures("number")
def test_callbacks_of_an_earlier_transaction_have_their_responses_and_are_not_stored(
    monkeypatch: pytest.MonkeyPatch, transactions: list[int]
) -> None:
    monkeypatch.setattr(ingestion, "MOST_SECONDS", 0)
    answered = list[str]()

    async def take_noting(door: Door, body: bytes, name: str) -> None:
        await door.take(body)
        answered.append(name)

    async def take() -> None:
        door = Door()
        calls = [take_noting(door, _body(f"wamid.{n}"), n) for n in "AB"]
        bad = take_noting(door, _body("wamid.C", text={"body": "bad"}), "C")
        await asyncio.gather(*calls, bad)

    with refusing_text("bad"):
        asyncio.run(take())
    assert (transactions, answered) == ([1, 1], ["A", "B", "C"])
    assert kinds() == ["message.received"] * 2
    assert Callback.select().count() == 1


@pytest.mark.usefixtures("number")
def test_an_outage_after_a_transaction_is_no_error_of_its_callbacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingestion, "MOST_SECONDS", 0)
    outage = OperationalError("gone")
    outage.__cause__ = psycopg.OperationalError("gone")
    _fail_after(monkeypatch, 1, outage)
    first, second = _take(_body("wamid.A"), _body("wamid.B"))
    assert (first, second) == (None, outage)


@pytest.mark.usefixtures("number")
def test_after_a_wait_for_the_lock_a_callback_does_not_wait_again_to_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy = BusyError(10)
    _fail_after(monkeypatch, 0, busy)
    assert _take(_body("wamid.A")) == [busy]
    assert Callback.select().count() == 0


def _with_texts(*bodies: str) -> bytes:
    """A callback with a message for each of these texts."""
    texts = [text(f"wamid.{n}", text={"body": body}) for n, body in enumerate(bodies)]
    return json.dumps({"entry": [messages(messages=texts)]}).encode()


@pytest.mark.usefixtures("number")
@pytest.mark.parametrize(
    ("texts", "expected"),
    # AB, CD, XY and Z; AB, CD, EX and YZ.
    [("ABCD", [1, 1, 2, 1]), ("ABCDE", [1, 1, 2, 2])],
)
def test_the_transactions_of_a_large_callback_are_short(
    monkeypatch: pytest.MonkeyPatch, transactions: list[int], texts: str, expected: list[int]
) -> None:
    monkeypatch.setattr(receiving, "MOST_ITEMS", 2)
    large, small = _with_texts(*texts), [_body(f"wamid.{name}") for name in "XYZ"]
    assert _take(large, *small) == [None] * 4
    assert transactions == expected
    assert kinds() == ["message.received"] * (len(texts) + 3)
    assert Callback.select().count() == 0


@pytest.mark.usefixtures("number")
def test_a_callback_that_fails_after_its_first_piece_is_stored_whole(
    monkeypatch: pytest.MonkeyPatch, transactions: list[int]
) -> None:
    monkeypatch.setattr(receiving, "MOST_ITEMS", 2)
    large, before = _with_texts("A", "B", "bad"), _body("wamid.X")
    with refusing_text("bad"):
        assert _take(before, large) == [None, None]
    assert transactions == [1, 1]
    assert [bytes(each.body) for each in Callback.select()] == [large]
    ingest.work_off()
    assert kinds() == ["message.received"] * 4


@pytest.mark.usefixtures("number")
def test_callbacks_do_not_count_as_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    is_occupied = list[bool]()

    def ingest(callbacks: Sequence[Read], *, are_stored: bool) -> int:
        is_occupied.append(database.shared_commits.since() is not None)
        return ingestion.ingest_together(callbacks, are_stored=are_stored)

    monkeypatch.setattr(receiving, "ingest_together", ingest)
    assert _take(_body("wamid.A")) == [None]
    assert is_occupied == [False]


@pytest.mark.usefixtures("number", "transactions")
def test_few_bytes_are_parsed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()

    def count(callbacks: Iterable[Callback]) -> list[Read]:
        found = ingestion.read(callbacks)
        read.append(len(found))
        return found

    monkeypatch.setattr(receiving, "read", count)
    monkeypatch.setattr(receiving, "MOST_BYTES_TOGETHER", 1 + len(_body("wamid.0")))
    assert _take(*(_body(f"wamid.{n}") for n in range(5))) == [None] * 5
    assert read == [2, 2, 1]


def test_a_message_and_those_about_it_never_change_at_once() -> None:
    def keys(body: bytes) -> set[str]:
        return set(ingestion.keys_of(ingestion.read([Callback.arrived(body)])))

    edit = {"original_message_id": "wamid.X"}
    about = _body("wamid.E", type="edit", edit=edit, **{"from": None, "from_user_id": "US.1"})
    assert keys(about) & keys(_body("wamid.X")) == {"wamid.X"}


@pytest.mark.usefixtures("number")
def test_in_an_outage_nothing_is_stored_and_the_network_repeats_the_callbacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OperationalError("gone") from psycopg.OperationalError("gone")

    monkeypatch.setattr(receiving, "ingest_together", fail)
    errors = _take(_body("wamid.A"), _body("wamid.B"))
    assert [type(error) for error in errors] == [OperationalError] * 2
    assert Callback.select().count() == 0


@pytest.mark.usefixtures("number")
def test_a_request_that_ends_early_leaves_the_others(state: Stored) -> None:
    assert state.environment

    async def take() -> None:
        door = Door()
        first, second = (asyncio.create_task(door.take(_body(f"wamid.{n}"))) for n in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await second
        await door.take(_body("wamid.LATER"))

    asyncio.run(take())
    assert kinds() == ["message.received"] * 3


@pytest.mark.usefixtures("number")
def test_no_callback_is_ingested_in_the_context_of_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request: ContextVar[str] = ContextVar("request", default="none")
    found = list[str]()

    def note(callbacks: Sequence[Read], *, are_stored: bool) -> int:
        found.append(request.get())
        return ingestion.ingest_together(callbacks, are_stored=are_stored)

    async def take() -> None:
        request.set("req_1")
        await Door().take(_body("wamid.A"))

    monkeypatch.setattr(receiving, "ingest_together", note)
    asyncio.run(take())
    assert found == ["none"]

"""Sending: an outcome that the database cannot record at first is recorded later, and only once."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import repeat
from typing import Any

import pytest
from peewee import InterfaceError, InternalError, OperationalError

from models import clock
from models.accounts.account import Account
from models.database import commit, writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.errors import ConflictError, DomainError
from models.messages.contact import Contact, ContactChange, Source
from models.messages.message import Message, MessageStatus, StatusChange
from models.numbers.number import Number, NumberStatus
from networks import exceptions
from networks.interface import Acceptance, OutboundMessage, Sender
from networks.whatsapp.rules import Rules
from services import contacts, sending
from services.message_status import record_acceptance
from services.repeating import Answer
from tasks.queue import huey
from tests import factories
from tests.another_writer import another_writer

TO, USER = "15551234567", "US.13491208655302741918"
ACCEPTED = Acceptance("wamid.1")
REFUSED = exceptions.RefusedError("131026", "Undeliverable.")
UNCLEAR = exceptions.AmbiguousError("timeout", "No answer.")
UNREACHED = exceptions.NotReachedError("unreachable", "No route.")


class Network(Rules):
    """Answers every send with ``answer``, or raises it. Calls ``then`` before."""

    def __init__(self) -> None:
        self.answer: Acceptance | Exception = ACCEPTED
        self.then: Callable[[], object] = lambda: None
        self.asked = 0

    async def send(self, _sender: Sender, _message: OutboundMessage) -> Acceptance:
        """See Network."""
        self.asked += 1
        self.then()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Outage:
    """A database that records no outcome: each try gets the next of ``errors``, until there is none.

    With ``commits`` it commits before it fails, like a server whose answer is lost.
    """

    def __init__(self) -> None:
        self.errors: Iterator[Exception] = iter(())
        self.commits = False

    async def commit(self, work: Any, *keys: str) -> Any:
        """See models.database.commit."""
        error = None if work.func is sending._begin else next(self.errors, None)
        if error is None:
            return await commit(work, *keys)
        if self.commits:
            await commit(work, *keys)
        # Other tasks run before it fails.
        await asyncio.sleep(0)
        raise error


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    made = Network()
    monkeypatch.setattr(sending, "network_of", lambda _: made)
    # The tries follow one another at once.
    monkeypatch.setattr(sending, "FIRST_PAUSE_SECONDS", 0)
    return made


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> Outage:
    made = Outage()
    monkeypatch.setattr(sending, "commit", made.commit)
    return made


async def _send(number: Number) -> Answer:
    body = {"number_id": number.id, "to": TO, "type": "text", "text": {"body": "Hi"}}
    return await sending.send(number.account_id, body, "key-1")


async def _send_unrecorded(number: Number) -> DomainError:
    """Send. Returns the error, because the outcome cannot be recorded yet."""
    with pytest.raises(DomainError) as caught:
        await _send(number)
    assert caught.value.code == "INTERNAL_ERROR"
    return caught.value


@pytest.mark.parametrize("commits", [False, True], ids=["rolled back", "committed"])
@pytest.mark.parametrize(
    ("answer", "status", "response", "events"),
    [
        (ACCEPTED, MessageStatus.SENT, 200, ["message.sent"]),
        (REFUSED, MessageStatus.FAILED, 400, []),
        (UNCLEAR, MessageStatus.UNKNOWN, 500, []),
    ],
    ids=["accepted", "refused", "unclear"],
)
def test_an_outcome_is_recorded_once_the_database_is_writable_again(
    number: Number,
    network: Network,
    outage: Outage,
    answer: Acceptance | Exception,
    status: MessageStatus,
    response: int,
    events: list[str],
    commits: bool,  # noqa: FBT001 - a column of the table
) -> None:
    factories.webhook(Account.get())
    network.answer, outage.commits = answer, commits
    outage.errors = iter(
        [OperationalError("locked"), InterfaceError("lost"), InternalError("lost")]
    )

    async def send_and_repeat() -> tuple[DomainError, Answer]:
        told = await _send_unrecorded(number)
        await sending.finish(10)
        return told, await _send(number)

    told, again = asyncio.run(send_and_repeat())
    [message] = Message.select()
    assert (huey.dequeue() is not None) == bool(events)
    assert told.details == {"messageId": message.id}
    assert f"Read message {message.id}" in told.message
    assert (again.status, again.is_replayed) == (response, True)
    wa_message_id = ACCEPTED.wa_message_id if answer is ACCEPTED else None
    assert (message.status, message.wa_message_id) == (status, wa_message_id)
    assert [step.status for step in StatusChange.select()] == [status]
    assert [event.kind for event in Event.select()] == events
    assert Delivery.select().count() == len(events)
    assert network.asked == 1


def test_until_then_a_repeated_request_is_told_to_wait(
    number: Number, network: Network, outage: Outage
) -> None:
    outage.errors = repeat(OperationalError("locked"))

    async def send_and_repeat() -> Answer:
        await _send_unrecorded(number)
        with pytest.raises(ConflictError, match="no outcome yet"):
            await _send(number)
        outage.errors = iter(())
        await sending.finish(10)
        return await _send(number)

    assert asyncio.run(send_and_repeat()).status == 200
    assert network.asked == 1


@pytest.mark.sqlite("its lock of the writers")
def test_a_lock_that_another_writer_keeps_for_too_long_loses_no_outcome(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.database.sqlite.LOCK_SECONDS", 0.05)

    async def send_and_repeat() -> Answer:
        with ExitStack() as stack:
            network.then = lambda: stack.enter_context(another_writer())
            await _send_unrecorded(number)
        await sending.finish(10)
        return await _send(number)

    assert asyncio.run(send_and_repeat()).status == 200
    assert Message.get().wa_message_id == "wamid.1"


def test_a_send_that_did_not_reach_the_network_frees_its_key_later(
    number: Number, network: Network, outage: Outage
) -> None:
    network.answer, outage.errors = UNREACHED, iter([OperationalError("locked")])

    async def send_and_repeat() -> Answer:
        await _send_unrecorded(number)
        await sending.finish(10)
        network.answer = ACCEPTED
        return await _send(number)

    again = asyncio.run(send_and_repeat())
    assert (again.status, again.is_replayed) == (200, False)


def _connect_again(number: Number) -> None:
    assert Number.get_by_id(number.id).move_to(NumberStatus.ACTIVE)


def _opt_in(_: Number) -> None:
    contact = Contact.get()
    assert contact.opted_out_at is not None
    contacts.opt(contact, out=False, because=Source.API, at=clock.now())


@pytest.mark.parametrize(
    ("answer", "change"),
    [
        (exceptions.NumberLostError("133010", "Not registered."), _connect_again),
        (exceptions.RefusedError("131050", "Opted out."), _opt_in),
    ],
    ids=["connected again", "opted in again"],
)
def test_a_second_recording_does_not_undo_what_happened_since_the_first(
    number: Number,
    network: Network,
    outage: Outage,
    answer: Exception,
    change: Callable[[Number], None],
) -> None:
    network.answer, outage.commits = answer, True
    outage.errors = iter([OperationalError("lost")])

    async def send() -> None:
        await _send_unrecorded(number)
        with writing():
            change(number)
        await sending.finish(10)

    asyncio.run(send())
    assert Number.get_by_id(number.id).status == NumberStatus.ACTIVE
    assert Contact.get().opted_out_at is None


def test_what_the_network_told_about_the_person_is_kept_when_the_first_try_is_rolled_back(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.answer = Acceptance("wamid.1", TO, USER)
    failures = iter([OperationalError("locked")])

    def record_and_fail(*given: Any) -> Message:
        message = record_acceptance(*given)
        if error := next(failures, None):
            raise error
        return message

    monkeypatch.setattr(sending, "record_acceptance", record_and_fail)

    async def send() -> None:
        await _send_unrecorded(number)
        await sending.finish(10)

    asyncio.run(send())
    assert Message.get().status == MessageStatus.SENT
    assert Contact.get().user_id == USER
    assert [change.new for change in ContactChange.select()] == [USER]


def test_a_send_does_not_continue_once_the_sweep_gave_its_message_an_end(number: Number) -> None:
    """The response to its first commit was lost, and meanwhile the message became unknown."""
    body = {"number_id": number.id, "to": TO, "type": "text", "text": {"body": "Hi"}}
    send = sending._begin(number.account_id, body, "key-1", "f", "lock", lambda _: None)
    assert sending._is_stored("lock", send)
    with writing():
        Message.get_by_id(send.message.id).advance(MessageStatus.UNKNOWN, at=clock.now())
    assert not sending._is_stored("lock", send)


def test_a_stop_during_the_first_try_waits_for_the_next(
    number: Number, network: Network, outage: Outage
) -> None:
    outage.errors = iter([OperationalError("locked")])

    async def send_and_stop() -> None:
        asked = asyncio.Event()
        network.then = asked.set
        sent = asyncio.create_task(_send(number))
        await asked.wait()
        sent.cancel()
        await sending.finish(10)
        assert Message.get().status == MessageStatus.SENT
        await asyncio.wait([sent])
        assert isinstance(sent.exception(), DomainError)

    asyncio.run(send_and_stop())


@pytest.mark.usefixtures("network")
def test_a_stop_waits_a_limited_time_and_logs_how_many_outcomes_are_lost(
    number: Number, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    outage.errors = repeat(OperationalError("locked"))

    async def send_and_stop() -> None:
        await _send_unrecorded(number)
        await sending.finish(0.05)

    with caplog.at_level(logging.ERROR):
        asyncio.run(send_and_stop())
    assert [record.args for record in caplog.records if record.name == "services.sending"] == [(1,)]
    assert not sending._under_way

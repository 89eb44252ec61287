"""Sending: our response to each response of the network."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from peewee import OperationalError

from models.accounts.account import Account
from models.database import commit, database, writing
from models.deliveries.event import Event
from models.errors import ConflictError, DomainError, ForbiddenError, NotFoundError
from models.messages.contact import Contact
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number, NumberStatus
from models.reports.usage import UsageCount
from networks import exceptions
from networks.interface import Acceptance, OutboundMessage, Sender
from networks.items import StatusUpdate
from networks.registry import described
from networks.whatsapp.rules import Rules
from resources.error import help_link
from services import sending
from services.message_status import SentMessages, record_status
from services.repeating import Answer
from tests import factories

ACTIVE, BANNED, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.BANNED, NumberStatus.DISCONNECTED
Network = Callable[[Callable[[OutboundMessage], str]], list[OutboundMessage]]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """Install a network that responds to a send with ``answer``. Returns its recorded sends."""

    def install(answer: Callable[[OutboundMessage], str]) -> list[OutboundMessage]:
        asked: list[OutboundMessage] = []

        class Fake(Rules):
            async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
                assert sender == Sender("1001", "token-1")
                asked.append(message)
                return Acceptance(answer(message))

        monkeypatch.setattr(sending, "network_of", lambda _: Fake())
        return asked

    return install


def _refuse(error: exceptions.NetworkError) -> Callable[[OutboundMessage], str]:
    def answer(_: OutboundMessage) -> str:
        raise error

    return answer


def _send(number: Number, text: str = "Hello", key: str | None = "key-1") -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": text}}
    return asyncio.run(sending.send(number.account_id, body, key))


def _crash_in_the_middle(number: Number, network: Network) -> list[OutboundMessage]:
    """Send, and crash before the network's response is recorded. Returns the network's recorded sends."""

    def die(_: OutboundMessage) -> str:
        raise SystemExit

    asked = network(die)
    with pytest.raises(SystemExit):
        _send(number)
    return asked


def _report(message: Message, status: str) -> None:
    update = StatusUpdate("1001", "wamid.1", status, message.id, (), message.created_at)
    with writing():
        assert record_status(update, SentMessages([update]), UsageCount())


def _kinds() -> list[str]:
    return [event.kind for event in Event.select().order_by(Event.id)]


def _json(response: Answer) -> Any:
    return json.loads(response.body)


def test_an_accepted_message_is_sent(number: Number, network: Network) -> None:
    asked = network(lambda _: "wamid.1")
    response = _send(number)
    [message] = Message.select()
    assert response.status == 200
    assert _json(response) == {"id": message.id, "wa_message_id": "wamid.1", "status": "sent"}
    assert asked == [OutboundMessage("15551234567", "text", {"body": "Hello"}, message.id)]
    assert (message.status, _kinds()) == (MessageStatus.SENT, ["message.sent"])


def test_the_message_and_its_key_are_committed_before_the_network_is_asked(
    number: Number, network: Network
) -> None:
    def look_from_outside(message: OutboundMessage) -> str:
        assert not database.in_transaction(), "no transaction is held across the call"
        [found] = factories.at_once(lambda: Message.by_id(message.reference))
        assert found is not None
        assert found.status == MessageStatus.PENDING
        key = IdempotencyKey.find(number.account_id, "key-1")
        assert key is not None
        assert (key.message_id, key.response_status) == (found.id, None)
        return "wamid.1"

    network(look_from_outside)
    assert _send(number).status == 200


@pytest.mark.parametrize(
    ("error", "status", "code", "message_status", "number_status", "kept"),
    [
        (exceptions.RefusedError, 400, "VALIDATION_ERROR", "failed", ACTIVE, True),
        (exceptions.ThrottledError, 429, "RATE_LIMITED", "failed", ACTIVE, False),
        (exceptions.NumberLostError, 409, "CONFLICT", "failed", DISCONNECTED, False),
        (exceptions.NumberBannedError, 409, "CONFLICT", "failed", BANNED, False),
        (exceptions.NumberInDoubtError, 409, "CONFLICT", "failed", ACTIVE, False),
        (exceptions.AccountActionError, 409, "CONFLICT", "failed", ACTIVE, False),
        (exceptions.NotReachedError, 500, "INTERNAL_ERROR", "failed", ACTIVE, False),
        (exceptions.AmbiguousError, 500, "INTERNAL_ERROR", "unknown", ACTIVE, True),
    ],
)
def test_each_outcome_of_the_network_has_its_answer(
    number: Number,
    network: Network,
    error: type[exceptions.NetworkError],
    status: int,
    code: str,
    message_status: str,
    number_status: NumberStatus,
    kept: bool,  # noqa: FBT001 - a column of the table
) -> None:
    network(_refuse(error("131026", "The reason.")))
    response = _send(number)
    assert response.status == status
    told = _json(response)["error"]
    assert (told["code"], told["status"]) == (code, status)
    known = {"networkCode": 131026, "messageId": Message.get().id}
    assert told["details"] == {**known, "help": help_link(code)}
    if not issubclass(error, exceptions.NotReachedError | exceptions.AmbiguousError):
        assert described(error("131026", "The reason.")) in told["message"]
    assert (response.retry_after is not None) == (status == 429)
    message = Message.get()
    assert message.status == message_status
    # Of an unknown outcome nothing is certain, not even an error.
    is_certain = message_status == "failed"
    shown = ("131026", "The reason.") if is_certain else (None, None)
    assert (message.error_code, message.error_message) == shown
    assert Number.get_by_id(number.id).status == number_status
    assert (IdempotencyKey.find(number.account_id, "key-1") is not None) == kept
    moved = {BANNED: ["number.banned"], DISCONNECTED: ["number.disconnected"]}
    assert _kinds() == moved.get(number_status, [])


def test_the_error_of_an_unclear_outcome_contains_the_message_id(
    number: Number, network: Network
) -> None:
    network(_refuse(exceptions.AmbiguousError("timeout", "No answer.")))
    told = _json(_send(number))["error"]
    assert Message.get().id in told["message"]
    # The network gave no code.
    assert told["details"] == {
        "messageId": Message.get().id,
        "help": help_link("INTERNAL_ERROR"),
    }


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (exceptions.NotReachedError("unreachable", "No route."), 500),
        (exceptions.ThrottledError("130429", "Too fast."), 429),
    ],
)
def test_a_send_that_the_network_did_not_process_can_be_repeated_with_the_same_key(
    number: Number, network: Network, error: exceptions.NetworkError, status: int
) -> None:
    network(_refuse(error))
    assert _send(number).status == status
    asked = network(lambda _: "wamid.1")
    again, replay = _send(number), _send(number)
    assert [(each.status, each.is_replayed) for each in (again, replay)] == [
        (200, False),
        (200, True),
    ]
    assert len(asked) == 1
    assert sorted(row.status for row in Message.select()) == ["failed", "sent"]


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: "wamid.1",
        _refuse(exceptions.RefusedError("131026", "Undeliverable.")),
        _refuse(exceptions.AmbiguousError("timeout", "No answer.")),
    ],
    ids=["accepted", "refused", "ambiguous"],
)
def test_a_repeated_request_gets_the_same_answer_and_sends_nothing(
    number: Number, network: Network, answer: Callable[[OutboundMessage], str]
) -> None:
    asked = network(answer)
    first, second = _send(number), _send(number)
    assert (first.status, first.body) == (second.status, second.body)
    assert first.retry_after == second.retry_after
    assert (first.is_replayed, second.is_replayed) == (False, True)
    assert (len(asked), Message.select().count()) == (1, 1)


def test_a_repeated_request_changes_nothing_before_its_key_is_found(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it undoes no work that shares its transaction (models.database.committer)."""
    network(lambda _: "wamid.1")
    first = _send(number)
    monkeypatch.setattr(Contact, "of_recipient", lambda *_: pytest.fail("a contact was written"))
    assert _json(_send(number)) == _json(first)


@pytest.mark.parametrize(
    ("recorder", "answer"),
    [
        ("record_acceptance", lambda _: "wamid.1"),
        ("number_status.apply_error", _refuse(exceptions.RefusedError("131026", "Undeliverable."))),
    ],
    ids=["accepted", "refused"],
)
def test_an_error_while_recording_the_outcome_keeps_the_key_claimed(
    number: Number,
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
    recorder: str,
    answer: Callable[[OutboundMessage], str],
) -> None:
    """The network may have the message, so a repetition without a key could send it twice."""

    def fail(*_: object) -> Message:
        raise OperationalError("the database is gone")

    monkeypatch.setattr(f"{sending.__name__}.{recorder}", fail)
    asked = network(answer)
    with pytest.raises(DomainError) as caught:
        _send(number)
    assert caught.value.code == "INTERNAL_ERROR"
    [message] = Message.select()
    assert f"Read message {message.id}" in caught.value.message
    with pytest.raises(ConflictError, match="no outcome yet") as repeated:
        _send(number)
    for each in (caught, repeated):
        assert each.value.details == {"messageId": message.id}
    assert len(asked) == 1


def test_a_crash_in_the_middle_keeps_the_key_and_never_sends_again(
    number: Number, network: Network
) -> None:
    asked = _crash_in_the_middle(number, network)
    with pytest.raises(ConflictError, match="no outcome yet") as caught:
        _send(number)
    assert caught.value.retry_after is not None
    assert len(asked) == 1


@pytest.mark.parametrize("status", ["delivered", "failed"])
def test_after_a_crash_a_status_completes_the_response_of_a_repeated_request(
    number: Number, network: Network, status: str
) -> None:
    asked = _crash_in_the_middle(number, network)
    message = Message.get()
    _report(message, status)
    response = _send(number)
    assert (response.status, response.is_replayed) == (200, True)
    assert _json(response) == {"id": message.id, "wa_message_id": "wamid.1", "status": "sent"}
    assert len(asked) == 1


def test_a_status_does_not_change_the_stored_response(number: Number, network: Network) -> None:
    network(_refuse(exceptions.AmbiguousError("timeout", "No answer.")))
    first = _send(number)
    _report(Message.get(), "delivered")
    again = _send(number)
    assert (again.status, again.body) == (500, first.body)


def test_an_inactive_number_sends_nothing(number: Number, network: Network) -> None:
    asked = network(lambda _: "wamid.1")
    with writing():
        number.move_to(BANNED)
    with pytest.raises(ConflictError, match="BANNED"):
        _send(number)
    assert (asked, Message.select().count()) == ([], 0)
    assert IdempotencyKey.find(number.account_id, "key-1") is None


def test_a_foreign_or_missing_number_sends_nothing(number: Number, network: Network) -> None:
    asked = network(lambda _: "wamid.1")
    rival = Account.open("Rival", "pro")
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    with pytest.raises(ForbiddenError) as forbidden:
        asyncio.run(sending.send(rival.id, body, None))
    with pytest.raises(NotFoundError) as unknown:
        asyncio.run(sending.send(rival.id, body | {"number_id": "num_nothing"}, None))
    for caught in (forbidden, unknown):
        assert caught.value.details == {"field": "/number_id"}
    assert asked == []


def test_the_person_is_a_key_of_the_first_transaction(
    number: Number, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two transactions with several sends may make the contacts of the same people."""
    network(lambda _: "wamid.1")
    keys = list[tuple[str, ...]]()

    async def note(work: Callable[[], Any], *given: str) -> Any:
        keys.append(given)
        return await commit(work, *given)

    monkeypatch.setattr(sending, "commit", note)
    assert _send(number).status == 200
    assert "15551234567" in keys[0]

"""The sweep: work left over after a lost wake-up or a killed process, and old rows."""

import json

import pytest

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages.callback import Reason, SetAside
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from networks.interface import Acceptance
from services import message_status
from tasks import sweep
from tests import factories
from tests.conftest import Clock, Configure
from tests.refusing import refusing

INBOUND = json.dumps(
    {
        "entry": [
            {
                "changes": [
                    {
                        "field": "messages",
                        "value": {
                            "metadata": {"phone_number_id": "1001"},
                            "messages": [{"id": "wamid.IN", "from": "1555", "type": "text"}],
                        },
                    }
                ]
            }
        ]
    }
).encode()


def _status(message: Message) -> str:
    status: str = Message.get_by_id(message.id).status
    return status


def _kinds() -> list[str]:
    return [event.kind for event in Event.select().order_by(Event.id)]


def test_a_send_that_died_becomes_unknown_when_the_network_cannot_answer_any_more(
    configure: Configure, number: Number, clock: Clock
) -> None:
    configure(NETWORK_TIMEOUT="5")
    message = factories.outbound(number)
    clock.advance(seconds=20)
    sweep.sweep()
    assert _status(message) == MessageStatus.PENDING, "its request may still be running"
    clock.advance(milliseconds=1)
    sweep.sweep()
    assert _status(message) == MessageStatus.UNKNOWN
    assert [change.status for change in message.history()] == ["pending", "unknown"]
    assert _kinds() == [], "nobody knows that it failed"


def test_a_late_acceptance_still_counts(number: Number, clock: Clock) -> None:
    message = factories.outbound(number)
    clock.advance(hours=1)
    sweep.sweep()
    with writing():
        message_status.record_acceptance(message, Acceptance("wamid.1"))
    assert _status(message) == MessageStatus.SENT


def test_a_message_that_stays_unknown_for_24_hours_has_failed(
    account: Account, number: Number, clock: Clock
) -> None:
    factories.webhook(account, events=["message.failed"])
    message = factories.outbound(number)
    clock.advance(hours=24)
    sweep.sweep()
    assert _status(message) == MessageStatus.UNKNOWN
    clock.advance(milliseconds=1)
    sweep.sweep()
    sweep.sweep()
    assert _status(message) == MessageStatus.FAILED
    assert _kinds() == ["message.failed"]
    assert Delivery.select().count() == 1


def test_settled_messages_are_left_as_they_are(number: Number, clock: Clock) -> None:
    sent = factories.outbound(number)
    with writing():
        message_status.record_acceptance(sent, Acceptance("wamid.1"))
    received = factories.inbound(number)
    assert received is not None
    clock.advance(days=3)
    sweep.sweep()
    assert (_status(sent), _status(received)) == (MessageStatus.SENT, MessageStatus.RECEIVED)


def test_a_parked_status_is_matched_when_its_message_is_known(number: Number) -> None:
    message = factories.outbound(number)
    with writing():
        message_status.record_acceptance(message, Acceptance("wamid.1"))
        value = {
            "metadata": {"phone_number_id": number.phone_number_id},
            "statuses": [{"id": "wamid.1", "status": "read"}],
        }
        entry = {"id": "2001", "changes": [{"field": "messages", "value": value}]}
        SetAside.record(
            Reason.UNKNOWN_MESSAGE,
            json.dumps({"entry": [entry]}).encode(),
            (),
            phone_number_id=number.phone_number_id,
            wa_message_id="wamid.1",
        )
    sweep.sweep()
    assert Message.get_by_id(message.id).status == MessageStatus.READ
    assert SetAside.waiting() == []


def test_idempotency_keys_are_forgotten_after_their_window(number: Number, clock: Clock) -> None:
    with writing():
        IdempotencyKey.claim(number.account_id, "old", "f", factories.outbound(number))
        clock.advance(hours=1)
        IdempotencyKey.claim(number.account_id, "young", "f", factories.outbound(number))
    clock.advance(hours=23, milliseconds=1)
    sweep.sweep()
    assert [row.key for row in IdempotencyKey.select()] == ["young"]


def test_a_message_that_raises_starves_no_other(
    number: Number, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    poison, *others = [factories.outbound(number) for _ in range(101)]
    clock.advance(days=2)
    with refusing("UPDATE", "message", f"NEW.id = '{poison.id}'"):
        sweep.sweep()
    assert _status(poison) == MessageStatus.PENDING
    assert {_status(each) for each in others} <= {MessageStatus.UNKNOWN, MessageStatus.FAILED}
    assert f"message {poison.id} was not settled" in caplog.text


def test_a_part_that_fails_leaves_the_others_running(
    number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("broken")

    message = factories.outbound(number)
    clock.advance(days=2)
    monkeypatch.setattr(sweep, "recall", fail)
    sweep.sweep()
    assert [(r.levelname, r.args) for r in caplog.records] == [("ERROR", ("fail",))]
    assert _status(message) == MessageStatus.FAILED


def test_a_database_that_cannot_be_read_is_no_end_of_the_sweep(
    state: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    with state.without("message"):
        sweep.sweep()
    assert "_settle failed" in caplog.text

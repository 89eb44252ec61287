"""The status of a message, for every order of its updates."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import database, writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number, NumberStatus
from models.reports.usage import UsageCount
from networks.exceptions import ErrorDetails
from networks.interface import Acceptance
from networks.items import StatusUpdate
from networks.registry import explained
from resources.message import message_object
from services import message_status
from services.message_status import SentMessages
from tests import factories
from tests.tasks.callbacks import accepted_message, ingest_now, messages, status_of

SENT, DELIVERED, READ, FAILED = (
    MessageStatus.SENT,
    MessageStatus.DELIVERED,
    MessageStatus.READ,
    MessageStatus.FAILED,
)
ERROR = ("131026", "Message undeliverable")


@pytest.fixture
def message(number: Number) -> Message:
    return factories.outbound(number)


def _accept(message: Message, wa_message_id: str = "wamid.1") -> Message:
    with writing():
        return message_status.record_acceptance(message, Acceptance(wa_message_id))


def _report(
    message: Message, *statuses: MessageStatus, at: int = 1_795_167_001_000, wamid: str = "wamid.1"
) -> None:
    number = Number.get_by_id(message.number_id)
    for status in statuses:
        errors = (ERROR,) if status is FAILED else ()
        with writing():
            update = StatusUpdate(number.phone_number_id, wamid, status, message.id, errors, at)
            assert message_status.record_status(update, SentMessages([update]), UsageCount())


def _events() -> list[dict[str, Any]]:
    return [json.loads(event.payload) for event in Event.select().order_by(Event.id)]


def _kinds() -> list[str]:
    return [event["event"] for event in _events()]


def _history(message: Message) -> list[str]:
    return [change.status for change in message.history()]


def _stored(message: Message) -> Message:
    return Message.get_by_id(message.id)


def test_all_errors_of_a_failure_are_in_its_event_and_in_the_message(message: Message) -> None:
    update = StatusUpdate(
        "1001",
        "wamid.1",
        "failed",
        message.id,
        (ERROR, ("999999", "Also")),
        1_795_167_001_000,
        error_details=(ErrorDetails(message="Write later."),),
    )
    with writing():
        assert message_status.record_status(update, SentMessages([update]), UsageCount())
    first = {"code": ERROR[0], "message": explained(*ERROR), "networkMessage": "Write later."}
    data = _events()[-1]["data"]
    assert data["error"] == first
    assert data["errors"] == [first, {"code": "999999", "message": "Also."}]
    assert message_object(_stored(message))["errors"] == data["errors"]


def test_acceptance_and_statuses_emit_one_event_each(message: Message) -> None:
    _accept(message)
    _report(message, SENT, DELIVERED, READ)
    assert _kinds() == ["message.sent", "message.delivered", "message.read"]
    assert _history(message) == ["pending", "sent", "delivered", "read"]
    assert [event["data"]["status"] for event in _events()] == ["sent", "delivered", "read"]


def test_an_event_shows_the_message_as_the_network_knows_it(message: Message) -> None:
    _accept(message, "wamid.9")
    [event] = _events()
    assert (event["data"]["id"], event["data"]["waMessageId"]) == (message.id, "wamid.9")


def test_a_status_that_overtakes_the_acceptance_loses_nothing(message: Message) -> None:
    _report(message, DELIVERED)
    fresh = _accept(message)
    assert fresh.status == DELIVERED, "a status never moves backwards"
    assert _kinds() == ["message.sent", "message.delivered"]
    assert _history(message) == ["pending", "sent", "delivered"]
    assert _stored(message).wa_message_id == "wamid.1"


def test_reports_that_come_twice_change_nothing(message: Message) -> None:
    _accept(message)
    _report(message, SENT, SENT, DELIVERED, DELIVERED, SENT)
    assert _kinds() == ["message.sent", "message.delivered"]
    assert _history(message) == ["pending", "sent", "delivered"]


def test_a_delivered_status_after_the_read_status_emits_an_event(
    message: Message,
) -> None:
    _accept(message)
    _report(message, READ, DELIVERED)
    assert sorted(_kinds()) == ["message.delivered", "message.read", "message.sent"]
    assert _stored(message).status == READ


def test_a_failure_carries_its_error(message: Message) -> None:
    _accept(message)
    _report(message, FAILED)
    error = {"code": ERROR[0], "message": explained(*ERROR)}
    assert _events()[-1]["event"] == "message.failed"
    assert _events()[-1]["data"]["error"] == error
    assert (_stored(message).status, _stored(message).error_code) == (FAILED, ERROR[0])


@pytest.mark.parametrize("order", [(DELIVERED, FAILED), (FAILED, DELIVERED)])
def test_a_failure_and_a_delivery_end_alike_in_either_order(
    message: Message, order: tuple[MessageStatus, ...]
) -> None:
    _accept(message)
    _report(message, *order, *order)
    assert sorted(_kinds()) == ["message.delivered", "message.failed", "message.sent"]
    assert (_stored(message).status, _stored(message).error_code) == (DELIVERED, None)
    assert set(_history(message)) == {"pending", "sent", "delivered", "failed"}
    [failed] = [event for event in _events() if event["event"] == "message.failed"]
    assert failed["data"]["error"] == {"code": ERROR[0], "message": explained(*ERROR)}


def test_a_read_status_adds_no_delivered_status(message: Message) -> None:
    _accept(message)
    _report(message, READ)
    assert _kinds() == ["message.sent", "message.read"]


@pytest.mark.usefixtures("clock")
def test_a_repeated_step_keeps_the_earlier_time(message: Message) -> None:
    _report(message, DELIVERED, at=1_795_167_009_000)
    _report(message, SENT, DELIVERED, at=1_795_167_001_000)
    _report(message, SENT, DELIVERED, at=1_795_167_005_000)
    times = {step.status: step.at for step in message.history()}
    assert times["sent"] == times["delivered"] == 1_795_167_001_000


def test_a_message_given_up_may_still_turn_out_delivered(message: Message) -> None:
    message_status.give_up(message.id)
    assert (_stored(message).status, _kinds()) == (FAILED, ["message.failed"])
    _report(message, DELIVERED)
    assert _stored(message).status == DELIVERED
    assert _stored(message).error_code is None
    assert _kinds()[-1] == "message.delivered"


def test_giving_up_says_why_and_does_so_once(message: Message) -> None:
    message_status.give_up(message.id)
    message_status.give_up(message.id)
    [event] = _events()
    assert event["data"]["error"]["code"] == "outcome_unknown"


@pytest.mark.parametrize("status", [SENT, DELIVERED])
def test_a_message_that_settled_in_the_meantime_is_not_given_up(
    message: Message, status: MessageStatus
) -> None:
    _report(message, status)
    message_status.give_up(message.id)
    assert _stored(message).status == status
    assert "message.failed" not in _kinds()


@pytest.mark.usefixtures("clock")
def test_the_events_time_is_the_networks(message: Message) -> None:
    _report(message, READ, at=1_795_167_001_000)
    assert {event["timestamp"] for event in _events()} == {"2026-11-20T09:30:01.000Z"}


def test_the_networks_status_of_an_accepted_message_is_stored_and_shown(message: Message) -> None:
    with writing():
        message_status.record_acceptance(message, Acceptance("wamid.1", message_status="paused"))
    _report(message, DELIVERED)
    assert [event["data"]["acceptance"] for event in _events()] == ["paused", "paused"]


@pytest.mark.usefixtures("clock")
def test_time_does_not_run_backwards_from_step_to_step(message: Message) -> None:
    """The network's times are whole seconds, so they may be before the message was stored."""
    _report(message, DELIVERED, at=1_795_166_999_000)
    _report(message, READ, at=1_795_166_998_000)
    times = [step.at for step in message.history()]
    assert times == [message.created_at] * 4
    assert {event["timestamp"] for event in _events()} == {"2026-11-20T09:30:00.000Z"}


def test_each_event_gets_one_delivery_for_each_webhook_that_wants_it(
    account: Account, message: Message
) -> None:
    everything = factories.webhook(account)
    reading = factories.webhook(account, events=["message.read"])
    _accept(message)
    _report(message, DELIVERED, READ, READ)
    assert Delivery.select().where(Delivery.webhook == everything.id).count() == 3
    assert Delivery.select().where(Delivery.webhook == reading.id).count() == 1


def test_an_event_goes_to_the_webhooks_of_its_messages_account_only(
    message: Message, account: Account
) -> None:
    """Two accounts have a message with the same network identifier."""
    other = Account.open("Other", "pro")
    others = factories.outbound(factories.active_number(other, "1002", "2002"))
    webhook, others_webhook = factories.webhook(account), factories.webhook(other)
    _accept(message)
    _accept(others)
    _report(message, DELIVERED)
    assert Delivery.select().where(Delivery.webhook == webhook.id).count() == 2
    assert Delivery.select().where(Delivery.webhook == others_webhook.id).count() == 1


def test_a_status_that_names_the_message_by_our_identifier_only_reaches_the_webhooks(
    message: Message, account: Account
) -> None:
    """The status has another network identifier than the acceptance."""
    webhook = factories.webhook(account)
    _accept(message)
    _report(message, DELIVERED, wamid="wamid.2")
    kinds = [each.event_kind for each in Delivery.select().where(Delivery.webhook == webhook.id)]
    assert sorted(kinds) == ["message.delivered", "message.sent"]


class _Exchanges:
    """Counts the round trips to PostgreSQL: one returns the results of all statements queued before it."""

    def __init__(self, put: Callable[..., Any]) -> None:
        self._put = put
        self.count = 0

    def put(self, sql: str, values: Sequence[Any]) -> "_Answer":
        return _Answer(self, self.count, self._put(sql, values))


@dataclass
class _Answer:
    exchanges: _Exchanges
    number: int
    answer: Any

    @property
    def rows(self) -> Any:
        if self.number == self.exchanges.count:
            self.exchanges.count += 1
        return self.answer.rows


@pytest.mark.parametrize("status", [SENT, DELIVERED, READ])
def test_a_status_waits_for_one_answer_of_the_database(
    message: Message, account: Account, status: MessageStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All writes go out with the commit, because a round trip costs more than most statements."""
    factories.webhook(account)
    fresh = _accept(message)
    exchanges = _Exchanges(database.obj.put)
    update = StatusUpdate("1001", "wamid.1", status, message.id, (), fresh.created_at)
    with writing():
        monkeypatch.setattr(database.obj, "put", exchanges.put)
        assert message_status.record_status(update, SentMessages([update]), UsageCount())
        monkeypatch.undo()
    assert exchanges.count == 1


def _found(phone_number_id: str, wamid: str, reference: str | None) -> Message | None:
    update = StatusUpdate(phone_number_id, wamid, "sent", reference, (), 0)
    with writing():
        return SentMessages([update]).find(update)


def test_a_status_finds_its_message_by_either_identifier(message: Message) -> None:
    assert _found("1001", "wamid.1", None) is None
    assert _found("1001", "wamid.1", message.id) == message
    _accept(message)
    assert _found("1001", "wamid.1", None) == message


def test_a_status_finds_neither_foreign_nor_inbound_messages(account: Account) -> None:
    number = factories.active_number(account, "1001")
    theirs = factories.outbound(factories.active_number(account, "1002"))
    factories.inbound(number, "wamid.IN")
    assert _found("1001", "wamid.1", theirs.id) is None
    assert _found("1001", "wamid.IN", None) is None


def test_a_status_finds_its_message_after_the_number_went_to_another_account(
    number: Number, message: Message
) -> None:
    with writing():
        number.move_to(NumberStatus.DISCONNECTED, None)
    factories.active_number(Account.open("Rival", "pro"))
    assert _found("1001", "wamid.1", message.id) == message


def test_statuses_in_one_batch_see_each_others_changes(message: Message) -> None:
    """The second one lacks our reference. The first one brought the network's identifier."""
    factories.webhook(Account.get_by_id(message.account_id))
    updates = [
        StatusUpdate("1001", "wamid.1", "delivered", message.id, (), 2),
        StatusUpdate("1001", "wamid.1", "read", None, (), 3),
        StatusUpdate("1001", "wamid.1", "read", None, (), 3),
    ]
    with writing():
        sent = SentMessages(updates)
        assert all(message_status.record_status(update, sent, UsageCount()) for update in updates)
    assert _kinds() == ["message.sent", "message.delivered", "message.read"]
    assert _history(message) == ["pending", "sent", "delivered", "read"]
    assert Delivery.select().count() == 3


@pytest.mark.parametrize("wrong", [7, "free", [], {}, {"billable": "yes", "category": 7}])
def test_a_malformed_pricing_never_hurts_the_status(number: Number, wrong: object) -> None:
    sent = accepted_message(number)
    ingest_now(messages(statuses=[status_of("wamid.1", "read", pricing=wrong)]))
    fresh = Message.get_by_id(sent.id)
    assert (fresh.status, fresh.pricing_json) == (MessageStatus.READ, None)


def test_a_later_pricing_replaces_the_earlier_one_and_is_told(number: Number) -> None:
    sent = accepted_message(number)
    first = {"billable": True, "pricing_model": "PMP", "category": "utility", "type": "regular"}
    for status, pricing in (
        ("sent", first),
        ("delivered", first),
        ("read", first | {"billable": False, "type": "free_customer_service"}),
        ("read", None),
    ):
        ingest_now(messages(statuses=[status_of("wamid.1", status, pricing=pricing)]))
    shown = {"model": "PMP", "category": "utility"}
    last = shown | {"billable": False, "type": "free_customer_service"}
    assert json.loads(Message.get_by_id(sent.id).pricing_json or "") == last
    events = [json.loads(event.payload) for event in Event.select().order_by(Event.id)]
    assert [event["data"]["pricing"] for event in events] == [
        None,
        shown | {"billable": True, "type": "regular"},
        last,
    ]

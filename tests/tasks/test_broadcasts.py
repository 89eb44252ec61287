"""Broadcasts on their way: each recipient gets one message or has a reason, at the pace of the number."""

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from models import clock
from models.accounts.account import Account
from models.broadcasts.broadcast import Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient, Entry
from models.database import fetch, writing
from models.deliveries.event import Event
from models.messages import reach
from models.messages.contact import Source
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number, NumberStatus
from models.numbers.pace import Pace
from networks import exceptions, registry
from networks.interface import Acceptance, OutboundMessage, Sender, TemplateDefinition
from resources.broadcast import broadcast_object, counts_of
from services import broadcast_batches, broadcasting, broadcasts, consent, contacts
from services.broadcast_batches import HaltedError
from services.broadcast_pace import reserve
from services.message_status import record_acceptances
from tasks.broadcasts import Engine
from tests import factories
from tests.fake_templates import Network, definition, known
from tests.waiting import until

BODY = {"type": "BODY", "text": "Hello {{1}}."}
OFFER = {"status": "APPROVED", "category": "MARKETING"}
CONTENT = {
    "name": "offer",
    "language": {"code": "en_US"},
    "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{name}}"}]}],
}
ANY_TIME = {"hours_from": None, "hours_until": None}


def offer(**values: Any) -> TemplateDefinition:
    """The template of the broadcasts at the network."""
    return definition("offer", "en_US", BODY, **OFFER | values)


class Scripted(Network):
    """A network that answers each message with the error of ``errors`` for its recipient, if there is one.

    An error is raised once, unless it is ``lasting``.
    """

    def __init__(self) -> None:
        super().__init__(offer())
        self.errors: dict[str, exceptions.NetworkError] = {}
        self.lasting = False
        self.before: Callable[[OutboundMessage], object] = lambda _: None

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """Accept a message, or raise its error."""
        await asyncio.sleep(0.001)
        self.before(message)
        error = self.errors.get(message.to) if self.lasting else self.errors.pop(message.to, None)
        if error is not None:
            self.asked.append(error)
            raise error
        return await super().send(sender, message)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def scripted(number: Number, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """The network of the number, which has the template."""
    network = Scripted()
    known(number, *network.templates)
    registry._open.cache_clear()
    monkeypatch.setitem(registry.NETWORKS, "whatsapp", lambda: network)
    yield network
    registry._open.cache_clear()


@pytest.fixture
def engine(scripted: Scripted) -> Iterator[Engine]:
    """A running engine, which sends to the scripted network."""
    assert scripted.asked == []
    running = Engine()
    running.start()
    yield running
    running.stop()


def people(count: int) -> list[Entry]:
    """Recipients."""
    return [Entry(f"4915100000{at:03}", {"name": f"Person {at}"}, f"r{at}") for at in range(count)]


def broadcast(number: Number, count: int = 5, **values: Any) -> Broadcast:
    """A broadcast that runs."""
    recipients = values.pop("recipients", people(count))
    given = {"name": "Spring", "type": "template", **ANY_TIME, **values}
    content = given.pop("content", CONTENT)
    made = broadcasts.create(number, content, recipients, **given)
    return broadcasts.start(made)


def state_of(row: Broadcast) -> str:
    """The state now."""
    return str(Broadcast.get_by_id(row.id).state)


def reached(engine: Engine, row: Broadcast, state: BroadcastState) -> Broadcast:
    """The broadcast when it has this state."""

    def look() -> bool:
        engine.look()
        return state_of(row) == state

    until(look, f"the broadcast is {state}")
    return Broadcast.get_by_id(row.id)


def left_out(row: Broadcast) -> dict[str, str | None]:
    """The reason of each recipient."""
    theirs = BroadcastRecipient.list_id == row.list_id
    rows = fetch(BroadcastRecipient.select().where(theirs))
    return {each.to_number: each.skipped for each in rows}


def test_each_recipient_gets_one_message_with_their_parameters(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    row = reached(engine, broadcast(number, 100), BroadcastState.DONE)
    texts = {
        sent.to: sent.content["components"][0]["parameters"][0]["text"] for sent in scripted.sent
    }
    assert texts == {each.to: each.parameters["name"] for each in people(100)}
    assert len(scripted.sent) == 100
    assert counts_of(row)["sent"] == 100
    messages = fetch(Message.select().where(Message.broadcast_id == row.id))
    assert {message.reference for message in messages} == {f"r{at}" for at in range(100)}
    kinds = Counter(event.kind for event in fetch(Event.select()))
    assert kinds["message.sent"] == 100
    assert kinds["broadcast.started"] == kinds["broadcast.completed"] == 1


def test_two_workers_send_to_nobody_twice(number: Number, scripted: Scripted) -> None:
    engines = [Engine(), Engine()]
    for each in engines:
        each.start()
    row = broadcast(number, 200)
    engines[1].look()
    reached(engines[0], row, BroadcastState.DONE)
    for each in engines:
        each.stop()
    assert Counter(sent.to for sent in scripted.sent) == {each.to: 1 for each in people(200)}


def test_a_pause_of_the_worker_bunches_no_messages(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    times = list[float]()

    def note(_message: OutboundMessage) -> None:
        times.append(time.monotonic())
        if len(times) == 20:
            time.sleep(0.5)

    scripted.before = note
    reached(engine, broadcast(number, 140), BroadcastState.DONE)
    assert len(times) == 140
    # At 80 messages a second, in windows of a quarter of a second.
    assert max(bisect_left(times, at + 0.25) - place for place, at in enumerate(times)) <= 30


def test_a_frozen_worker_sends_nothing_to_who_opted_out_meanwhile(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    def freeze(message: OutboundMessage) -> None:
        """The others of its batch are stored."""
        scripted.before = lambda _: None
        until(lambda: Message.select().count() > 5, "stored messages")
        for person in {each.to for each in people(20)} - {message.to}:
            consent.suppress(number.account_id, person, None, None)
        time.sleep(1)

    scripted.before = freeze
    row = reached(engine, broadcast(number, 20), BroadcastState.DONE)
    # Others may be on their way already.
    assert len(scripted.sent) <= 3
    assert counts_of(row)["skipped"] == 20 - len(scripted.sent)


def test_a_slow_worker_stores_few_messages_ahead(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    ahead = list[int]()

    def be_slow(_message: OutboundMessage) -> None:
        ahead.append(Message.select().count() - len(scripted.sent))
        time.sleep(0.06)

    scripted.before = be_slow
    broadcast(number, 100)
    engine.look()
    until(lambda: len(ahead) > 30, "messages that are sent")
    # Two batches of a quarter of a second.
    assert max(ahead) <= 45


def test_transactions_are_short_beside_single_sends(
    engine: Engine, number: Number, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single send waits for them."""
    stored, recorded = list[int](), list[int]()
    write = Message.write_pending

    def note_stored(sender: Number, broadcast_id: str, outgoing: Sequence[Message]) -> None:
        stored.append(len(outgoing))
        write(sender, broadcast_id, outgoing)

    def note_recorded(rows: Sequence[Any]) -> None:
        recorded.append(len(rows))
        record_acceptances(rows)

    def send_one(_message: OutboundMessage) -> None:
        scripted.before = lambda _: None
        with writing():
            Pace.take_place(number.id)

    monkeypatch.setattr(Message, "write_pending", note_stored)
    monkeypatch.setattr("services.broadcasting.record_acceptances", note_recorded)
    with writing():
        number.update_details(throughput="HIGH")
    scripted.before = send_one
    reached(engine, broadcast(number, 500), BroadcastState.DONE)
    assert stored[0] == 64
    # When it was sent, a quarter of a second of messages was stored already.
    assert max(stored[-8:]) == 16
    assert max(recorded[-8:]) == 16


def test_the_pace_of_a_broadcast_holds_when_the_limit_of_its_number_rises(number: Number) -> None:
    row = broadcast(number, rate=80)
    before = reserve(row, number, 40)
    number.throughput = "HIGH"
    assert reserve(row, number, 1).first_at - before.first_at >= 500


def test_a_broadcast_with_a_rate_of_its_own_leaves_the_other_places_of_its_number(
    number: Number,
) -> None:
    slow, fast = broadcast(number, rate=20), broadcast(number)
    first = reserve(slow, number, 20)
    assert reserve(fast, number, 1).first_at - first.first_at < 500
    with writing():
        Pace.take_place(number.id)
    last = reserve(slow, number, 1)
    assert last.first_at - first.first_at >= 1000
    assert last.is_shared


def test_a_worker_that_lost_its_claims_stores_nothing(number: Number, scripted: Scripted) -> None:
    row = broadcast(number)
    lost = BroadcastRecipient.claim_many(0, 5, part=row.list_id)
    # Claims that ended are taken one by one: they may be the cause.
    assert len(broadcast_batches.begin(row, 5).sends) == 1
    with pytest.raises(broadcast_batches._ClaimLostError), writing():
        broadcast_batches._store(row, lost, broadcast_batches.Check.FINAL)
    assert len(fetch(Message.select())) == 1
    assert scripted.sent == []


def test_a_person_who_is_in_the_list_twice_gets_one_message(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    factories.contact(number, phone="4915100000001", user_id="DE.1001")
    given = ["DE.1001", *(each.to for each in people(150)), "DE.1001"]
    entries = [Entry(to, {"name": "Ann"}) for to in given[:-1]]
    row = reached(engine, broadcast(number, recipients=entries), BroadcastState.DONE)
    assert Counter(sent.to for sent in scripted.sent)["4915100000001"] == 0
    assert len(scripted.sent) == 150
    assert broadcast_object(row)["skipped"] == [{"reason": "duplicate", "count": 1}]


def test_a_message_that_was_certainly_not_sent_is_sent_later(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    scripted.errors["4915100000003"] = exceptions.ThrottledError("130429", "")
    row = reached(engine, broadcast(number), BroadcastState.DONE)
    assert Counter(sent.to for sent in scripted.sent) == {each.to: 1 for each in people(5)}
    assert counts_of(row)["sent"] == counts_of(row)["total"] == 5
    assert len(fetch(Message.select())) == 5


def test_a_message_with_an_unknown_outcome_is_never_repeated(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    scripted.errors["4915100000003"] = exceptions.AmbiguousError("timeout", "")
    row = reached(engine, broadcast(number), BroadcastState.DONE)
    assert len(scripted.sent) == 4
    assert counts_of(row)["unknown"] == 1


def test_a_message_that_was_not_sent_fails_if_its_broadcast_has_ended(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    row = broadcast(number, 1)

    def freeze(message: OutboundMessage) -> None:
        """The worker froze until another one had ended the broadcast."""
        with writing():
            Message.get_by_id(message.reference).advance(MessageStatus.UNKNOWN, at=1)
        assert broadcasts.finish(row)

    scripted.before = freeze
    scripted.errors["4915100000000"] = exceptions.ThrottledError("130429", "Rate limit")
    reached(engine, row, BroadcastState.DONE)
    until(lambda: counts_of(row)["failed"] == 1, "the message has failed")
    assert counts_of(row)["waiting"] == 0
    [failed] = fetch(Event.select().where(Event.kind == "message.failed"))
    assert '"130429"' in failed.payload


@pytest.fixture
def between(number: Number, monkeypatch: pytest.MonkeyPatch) -> Broadcast:
    """A broadcast whose message another worker takes back between two queries of this one."""
    row = broadcast(number, 1)
    [send] = broadcast_batches.begin(row, 1).sends
    is_pending = Message.is_any_pending

    def is_any_pending(broadcast_id: str) -> bool:
        broadcasting._take_back(row, send.message, 0)
        return is_pending(broadcast_id)

    monkeypatch.setattr(Message, "is_any_pending", is_any_pending)
    return row


@pytest.mark.usefixtures("scripted")
def test_a_broadcast_does_not_end_while_a_recipient_begins_to_wait_again(
    between: Broadcast,
) -> None:
    assert not broadcasts.finish(between)
    assert state_of(between) == BroadcastState.RUNNING
    assert counts_of(between)["waiting"] == 1


@pytest.mark.usefixtures("scripted")
def test_a_cancelled_one_leaves_out_who_began_to_wait_again(between: Broadcast) -> None:
    broadcasts.cancel(between)
    ended = list[bool]()
    for _ in range(2):
        broadcasts.close_ended()
        ended.append(Broadcast.get_by_id(between.id).ended_at is not None)
    assert ended == [False, True]
    assert left_out(between) == {"4915100000000": "cancelled"}


def test_an_outcome_that_cannot_be_recorded_affects_no_other(
    engine: Engine, number: Number, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send(_sender: Sender, message: OutboundMessage) -> Acceptance:
        is_one_of_two = message.to in {"4915100000003", "4915100000004"}
        return Acceptance("wamid.same" if is_one_of_two else f"wamid.{message.to}")

    monkeypatch.setattr(scripted, "send", send)
    row = broadcast(number, 30)

    def are_recorded() -> bool:
        engine.look()
        return counts_of(row)["sent"] == 29

    until(are_recorded, "the others are recorded")
    assert counts_of(row)["pending"] == 1
    # Its recipient may wait again.
    assert not broadcasts.finish(row)


def test_a_refused_message_is_the_outcome_of_its_recipient(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    scripted.errors["4915100000003"] = exceptions.RefusedError("131026", "Undeliverable")
    row = reached(engine, broadcast(number), BroadcastState.DONE)
    assert counts_of(row)["failed"] == 1
    [failed] = fetch(Event.select().where(Event.kind == "message.failed"))
    assert '"131026"' in failed.payload
    assert f'"broadcastId":"{row.id}"' in failed.payload


def test_people_who_opted_out_before_or_meanwhile_are_skipped(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    before, meanwhile, unknown = "4915100000001", "4915100000049", "4915100000002"
    consent.suppress(number.account_id, unknown, None, None)
    contact = factories.contact(number, phone=before)
    with writing():
        contacts.opt(contact, out=True, because=Source.API, at=contact.created_at)

    def opt_out(message: OutboundMessage) -> None:
        if message.to == "4915100000000":
            other = factories.contact(number, phone=meanwhile)
            with writing():
                contacts.opt(other, out=True, because=Source.WORD, at=other.created_at)

    scripted.before = opt_out
    row = reached(engine, broadcast(number, 50, rate=20), BroadcastState.DONE)
    out = {before, meanwhile, unknown}
    assert {to for to, why in left_out(row).items() if why} == out
    assert out.isdisjoint(sent.to for sent in scripted.sent)
    shown = broadcast_object(row)
    assert shown["skipped"] == [{"reason": "opted_out", "count": 3}]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (exceptions.RefusedError("132015", "Paused"), "template_not_sendable"),
        (exceptions.ThrottledError("131048", "Spam"), "number_limited"),
        (exceptions.ThrottledError("131064", "Limit"), "messaging_limit"),
        (exceptions.AccountActionError("131042", "Payment"), "account_action"),
        (exceptions.NumberLostError("190", "Token"), "number_not_active"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.code,
)
def test_an_error_that_concerns_all_pauses_the_broadcast_and_harms_nobody(
    engine: Engine, number: Number, scripted: Scripted, error: Any, reason: str
) -> None:
    scripted.errors["4915100000020"] = error
    row = reached(engine, broadcast(number, 60, rate=40), BroadcastState.PAUSED)
    assert broadcast_object(row)["reason"]["code"] == reason
    until(lambda: not engine._runs, "the engine has left it")
    counts = counts_of(row)
    assert counts["sent"] + counts["waiting"] == 60
    assert counts["waiting"] > 0
    with writing():
        Number.get_by_id(number.id).move_to(NumberStatus.ACTIVE)
    reached(engine, broadcasts.resume(row), BroadcastState.DONE)
    assert Counter(sent.to for sent in scripted.sent) == {each.to: 1 for each in people(60)}


def test_a_template_that_the_copy_refuses_is_asked_for_first(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    known(number, offer(status="PAUSED"))
    reached(engine, broadcast(number), BroadcastState.DONE)
    assert len(scripted.sent) == 5


def test_a_template_that_is_paused_at_the_network_pauses_the_broadcast(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    scripted.templates = [offer(status="PAUSED")]
    known(number, *scripted.templates)
    row = reached(engine, broadcast(number), BroadcastState.PAUSED)
    assert row.reason == "template_not_sendable"
    assert not scripted.sent
    assert counts_of(row)["waiting"] == 5


def test_failures_in_a_row_pause_the_broadcast(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    scripted.errors = {each.to: exceptions.AmbiguousError("http_500", "") for each in people(200)}
    row = reached(engine, broadcast(number, 200), BroadcastState.PAUSED)
    assert row.reason == "many_failures"
    until(lambda: not engine._runs, "the engine has left it")
    assert 20 <= counts_of(row)["unknown"] < 120


def test_a_number_of_low_quality_continues_only_after_a_person_resumed(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    with writing():
        number.update_details(quality_rating="RED")
    row = reached(engine, broadcast(number), BroadcastState.PAUSED)
    assert row.reason == "number_quality"
    assert not scripted.sent
    reached(engine, broadcasts.resume(row), BroadcastState.DONE)
    assert len(scripted.sent) == 5


def test_who_resumed_at_low_quality_is_not_asked_again(engine: Engine, number: Number) -> None:
    with writing():
        number.update_details(quality_rating="RED")
    row = broadcasts.resume(reached(engine, broadcast(number), BroadcastState.PAUSED))
    row = broadcasts.resume(broadcasts.pause(row))
    reached(engine, row, BroadcastState.DONE)


def test_a_limit_whose_end_the_network_names_ends_by_itself(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    error = exceptions.ThrottledError("131048", "Spam")
    ends_at = clock.now() + 2_000
    error.details = replace(error.details, restricted_until=ends_at)
    scripted.errors["4915100000003"] = error
    row = reached(engine, broadcast(number), BroadcastState.PAUSED)
    assert (row.reason, row.resume_at) == ("number_limited", ends_at)
    reached(engine, row, BroadcastState.DONE)
    assert clock.now() >= ends_at
    assert Counter(sent.to for sent in scripted.sent) == {each.to: 1 for each in people(5)}


def test_who_resumed_after_the_limit_of_a_number_accepted_its_quality(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    scripted.errors["4915100000003"] = exceptions.ThrottledError("131048", "Spam")
    row = reached(engine, broadcast(number), BroadcastState.PAUSED)
    until(lambda: not engine._runs, "the engine has left it")
    with writing():
        number.update_details(quality_rating="RED")
    reached(engine, broadcasts.resume(row), BroadcastState.DONE)


@pytest.mark.parametrize("at_limit", ["wait", "skip"])
def test_a_messaging_limit_holds_to_the_person(
    engine: Engine, number: Number, scripted: Scripted, at_limit: str
) -> None:
    with writing():
        number.update_details(messaging_limit="TIER_250")
    end = BroadcastState.DONE if at_limit == "skip" else BroadcastState.PAUSED
    row = reached(engine, broadcast(number, 300, at_limit=at_limit, rate=None), end)
    until(lambda: not engine._runs, "the engine has left it")
    assert len(scripted.sent) == counts_of(row)["sent"] == 250
    if at_limit == "skip":
        assert broadcast_object(row)["skipped"] == [{"reason": "messaging_limit", "count": 50}]
    else:
        assert row.reason == "messaging_limit"
        # 25 of the 250 must be free first.
        first = min(message.created_at for message in fetch(Message.select()))
        assert row.resume_at is not None
        assert 0 <= row.resume_at - first - reach.PERIOD_MS < 10_000


def test_the_content_is_checked_for_each_recipient_whose_parameters_decide_it(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    parameter = {"type": "{{kind}}", "text": "{{name}}"}
    content = CONTENT | {"components": [{"type": "body", "parameters": [parameter]}]}
    kinds = {"4915100000000": "text", "4915100000001": "image", "4915100000002": "text"}
    recipients = [Entry(to, {"kind": kind, "name": to}) for to, kind in kinds.items()]
    row = broadcast(number, content=content, recipients=recipients)
    reached(engine, row, BroadcastState.DONE)
    assert {sent.to for sent in scripted.sent} == {
        to for to, kind in kinds.items() if kind == "text"
    }
    assert broadcast_object(row)["skipped"] == [{"reason": "invalid_content", "count": 1}]


def test_a_broadcast_at_its_limit_continues_when_a_message_was_not_sent(
    number: Number, scripted: Scripted
) -> None:
    assert not scripted.sent
    row = broadcast(number, 2)
    [send] = broadcast_batches.begin(row, 1).sends
    limit = HaltedError(PauseCode.MESSAGING_LIMIT, "", clock.now() + clock.DAY_MS)
    assert broadcasts.halt(row.id, limit)
    assert broadcasting._take_back(row, send.message, 0)
    broadcasts.move_due()
    assert state_of(row) == BroadcastState.RUNNING


def test_a_text_goes_only_to_people_with_an_open_window(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    assert factories.inbound(number)
    entries = [Entry("15551234567", {}), Entry("4915100000001", {})]
    content = {"body": "We open at ten."}
    row = broadcast(number, recipients=entries, type="text", content=content)
    row = reached(engine, row, BroadcastState.DONE)
    assert [sent.to for sent in scripted.sent] == ["15551234567"]
    assert left_out(row) == {"15551234567": None, "4915100000001": "no_open_window"}


def test_a_recipient_without_a_parameter_is_left_out_with_the_reason(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    entries = [Entry("4915100000001", {"name": 'Ann "A" {{b}}'}), Entry("4915100000002", {})]
    row = reached(engine, broadcast(number, recipients=entries), BroadcastState.DONE)
    [sent] = scripted.sent
    assert sent.content["components"][0]["parameters"][0]["text"] == 'Ann "A" {{b}}'
    assert left_out(row)["4915100000002"] == "invalid_content"


def test_one_that_is_cancelled_leaves_out_who_waits_and_says_so_once(
    engine: Engine, number: Number, scripted: Scripted
) -> None:
    row = broadcast(number, 100, rate=20)
    engine.look()
    until(lambda: scripted.sent, "the first message is sent")
    broadcasts.cancel(row)

    def is_over() -> bool:
        engine.look()
        return Broadcast.get_by_id(row.id).ended_at is not None

    until(is_over, "the broadcast ended")
    counts = counts_of(row)
    assert counts["sent"] == len(scripted.sent)
    assert counts["sent"] + counts["skipped"] == 100
    assert counts["sent"] < 60
    engine.look()
    [event] = fetch(Event.select().where(Event.kind == "broadcast.completed"))
    assert f'"skipped":{counts["skipped"]}' in event.payload


def test_a_suspended_account_sends_nothing(
    engine: Engine, number: Number, account: Account, scripted: Scripted
) -> None:
    account.suspend()
    row = reached(engine, broadcast(number), BroadcastState.PAUSED)
    assert row.reason == "account_suspended"
    assert not scripted.sent

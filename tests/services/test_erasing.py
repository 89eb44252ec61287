"""Erasure of a person: nothing of them is left in any table, also after a kill. Others lose nothing."""

import json
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from contract_tests.stored import DATABASE_FILE, Stored
from models import clock
from models.accounts.account import Account
from models.accounts.api_request import ApiRequest
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.feed import START, Wanted
from models.messages import search
from models.messages.callback import MAX_TRIES, Callback, Mention, Reason, SetAside
from models.messages.contact import IS_PERSON, Contact, Source
from models.messages.erasure import LEASE_MS, Erasure
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.notice import Notice
from models.numbers.number import Number
from models.reports.tally import MessageTally
from models.reports.usage import UsageTotal
from networks.interface import Acceptance
from networks.items import Part
from networks.whatsapp.cloud_api import CloudApi
from services import contacts, erasing, ingestion, mentions, message_status
from tasks import ingest
from tests import factories
from tests.conftest import Clock
from tests.tasks.callbacks import (
    accepted_message,
    ingest_now,
    kinds,
    messages,
    refusing_text,
    status_of,
    store,
    text,
)

TERMS = Terms(per_webhook=10, lease_ms=60_000)
ANA = {
    "phone": "15557654321",
    "user_id": "US.90817263",
    "username": "ana.bananas",
    "name": "Bananas",
}
BEA = {
    "phone": "15558765432",
    "user_id": "US.80716253",
    "username": "bea.cherries",
    "name": "Cherries",
}
# Words that only one of them writes or is written. The index of SQLite keeps words without what they have in
# common with the one before.
HERS = ("15551112222", *ANA.values(), "quixotic", "zanzibar", "jackdaws", "wamid.ANA")
OTHERS = ("15553334444", *BEA.values(), "vortexes", "xylophone", "mulberry", "wamid.BEA")
PHONES = (ANA["phone"], BEA["phone"])
Erase = Callable[[Contact], object]


def work_off() -> None:
    """All rounds of a worker. A round takes a second at most."""
    while erasing.work_off():
        pass


class Killed(BaseException):
    """The process dies here."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.messages.erasure.BATCH_SIZE", 1)


def _store_everything_about(
    number: Number, told: dict[str, str], words: tuple[str, ...]
) -> Contact:
    """Everything that may be on record of a person. ``words`` begin with an earlier phone number."""
    earlier, wamid = words[0], words[-1]
    ids = {"wa_id": earlier, "user_id": told["user_id"]}
    profile = {"profile": {"name": told["name"], "username": told["username"]}}
    wrote = text(f"{wamid}.1", **{"from": earlier, "from_user_id": told["user_id"]})
    wrote |= {"text": {"body": f"{words[-4]} {told['name']} {told['username']}"}}
    ingest_now(messages(messages=[wrote], contacts=[ids | profile]))
    # The same person with another phone number.
    again = wrote | {"id": f"{wamid}.2", "from": told["phone"], "text": {"body": words[-3]}}
    ingest_now(messages(messages=[again], contacts=[ids | profile | {"wa_id": told["phone"]}]))
    sent = factories.outbound(number, told["phone"], words[-2])
    with writing():
        IdempotencyKey.claim(number.account_id, f"key {sent.id}", f"hash of {words[-2]}", sent)
        IdempotencyKey.answer(sent, 400, f"{told['phone']} is no recipient")
        message_status.record_acceptance(sent, Acceptance(f"{wamid}.3"))
    ingest_now(messages(statuses=[_status(told, f"{wamid}.3", "delivered")]))
    _leave_traces(number, told, wamid)
    contact = Contact.by_id(Message.get_by_id(sent.id).contact_id)
    assert contact is not None
    with writing():
        contact.assign({"note": f"a friend of {told['name']}"})
        contacts.opt(contact, out=True, because=Source.API, at=clock.now())
    return contact


def _status(told: dict[str, str], wamid: str, status: str, **more: str) -> dict[str, Any]:
    return status_of(wamid, status, recipient_id=told["phone"], **more)


def _leave_traces(number: Number, told: dict[str, str], wamid: str) -> None:
    """What mentions the person beside messages and events."""
    ingest_now(messages(statuses=[_status(told, f"{wamid}.9", "read")]))
    paid = {"field": "payments", "value": {"recipient": told["phone"]}}
    ingest_now({"id": "2001", "changes": [paid]})
    ApiRequest.record(
        [
            _request(number, f"/contacts/+{told['phone']}", ""),
            _request(number, "/messages", f"waMessageId={wamid}.3"),
        ]
    )


def _request(number: Number, path: str, query: str) -> dict[str, Any]:
    row = {"account": number.account_id, "key_id": "key_1", "created_at": 1, "operation": "x"}
    row |= {"method": "GET", "path": path, "query": query, "status": 200, "duration_ms": 1}
    return row | {"request_id": "req_1", "error_json": None}


def _attempt(account: Account) -> ClaimedDelivery:
    """Attempt all deliveries but one, whose attempt is under way. The receiver repeats what it got."""
    claimed = factories.claim_due(100, Terms(per_webhook=100, lease_ms=60_000))
    assert {each.webhook.account_id for each in claimed} == {account.id}
    *done, last = claimed
    for each in done:
        answered = factories.failure(each)
        repeated = answered.__class__(
            **vars(answered) | {"response_body": each.content.body.decode()}
        )
        record_outcomes([repeated], lambda _tries: 30, 10)
    return last


@pytest.fixture
def world(account: Account, number: Number) -> Iterator[tuple[Contact, ClaimedDelivery]]:
    """Ana with all that may be on record, and Bea likewise; an attempt about Ana is under way."""
    factories.webhook(account)
    _store_everything_about(number, BEA, OTHERS)
    ana = _store_everything_about(number, ANA, HERS)
    now = clock.now() + 1
    assert search.add(now, now, 100) == 6
    under_way = _attempt(account)
    # Callbacks and items of both.
    both = messages(messages=[_of(BEA, "wamid.BEA.4"), _of(ANA, "wamid.ANA.4")])
    store(both)
    SetAside.record(Reason.FAILED, json.dumps({"entry": [both]}).encode(), PHONES, error="killed")
    return ana, under_way  # type: ignore[return-value]


def _of(told: dict[str, str], wamid: str) -> dict[str, Any]:
    return text(wamid, **{"from": told["phone"]})


def _found_in_tables(stored: Stored, wanted: tuple[str, ...]) -> set[str]:
    """What of these is in any column of any table."""
    held = b""
    for table in stored.tables():
        for row in stored.rows(f'SELECT * FROM "{table}"'):  # noqa: S608 - its own names
            values = (
                bytes(v) if isinstance(v, bytes | memoryview) else str(v).encode() for v in row
            )
            held += b"\n".join(values) + b"\n"
    return {each for each in wanted if each.encode() in held}


def _assert_only_ana_is_erased(stored: Stored, totals: Any) -> None:
    assert _found_in_tables(stored, HERS) == set()
    assert _found_in_tables(stored, OTHERS) == set(OTHERS)
    files = b"".join(path.read_bytes() for path in stored.folder.glob(f"{DATABASE_FILE}*"))
    assert not [each for each in HERS if each.encode() in files]
    assert _totals() == totals
    assert Erasure.select().count() == 0
    people = {row.id for row in Contact.select().where(IS_PERSON)}
    assert {row.contact_id for row in Message.select()} == people
    assert sum(row.total for row in MessageTally.select()) == Message.select().count() == 3
    of_bea = search.find(Account.all()[0].id, ["xylophone"], 10).rows
    assert [message.from_number for message in of_bea] == [BEA["phone"]]


def _totals() -> list[Any]:
    return sorted((row.day, row.direction, row.category, row.total) for row in UsageTotal.select())


def test_nothing_of_a_person_is_left_in_any_table(
    state: Stored, world: tuple[Contact, ClaimedDelivery]
) -> None:
    ana, under_way = world
    assert _found_in_tables(state, HERS) == set(HERS)
    totals = _totals()
    removed = erasing.erase_now(ana)
    _assert_only_ana_is_erased(state, totals)
    assert removed["messages"] == 3
    assert removed["events"] == removed["deliveries"] > 3
    # The outcome of an attempt that was under way brings nothing back.
    record_outcomes([factories.success(under_way)], lambda _tries: None, 10)
    _assert_only_ana_is_erased(state, totals)


@pytest.mark.parametrize("batches", [1, 3, 4, 5, 6])
def test_a_kill_in_the_middle_leaves_the_rest_to_the_worker(
    state: Stored,
    world: tuple[Contact, ClaimedDelivery],
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    batches: int,
) -> None:
    left, totals = iter(range(batches - 1)), _totals()

    def pause(_seconds: float) -> None:
        if next(left, None) is None:
            raise Killed

    with monkeypatch.context() as patch:
        # Other threads sleep, too.
        fake = SimpleNamespace(sleep=pause, monotonic=time.monotonic)
        patch.setattr("services.erasing.time", fake)
        patch.setattr(erasing, "SLICE_SECONDS", 60)
        with pytest.raises(Killed):
            erasing.erase_now(world[0])
    assert Contact.find(world[0].id) is None
    work_off()
    assert Erasure.select().count() == 1, "its worker may still live"
    clock.advance(milliseconds=LEASE_MS)
    work_off()
    _assert_only_ana_is_erased(state, totals)


@pytest.mark.parametrize("place", ["search.merge", "empty_log", "Erasure.finish"])
def test_a_kill_during_the_cleaning_leaves_it_to_the_next_round(
    state: Stored,
    world: tuple[Contact, ClaimedDelivery],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    totals = _totals()

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(f"services.erasing.{place}", die)
        with pytest.raises(Killed):
            erasing.erase_now(world[0])
    assert Erasure.select().count() == 1
    work_off()
    _assert_only_ana_is_erased(state, totals)


def test_a_request_leaves_most_to_the_worker(
    state: Stored, world: tuple[Contact, ClaimedDelivery]
) -> None:
    totals = _totals()
    Erasure.begin(world[0])
    assert (Erasure.select().count(), Contact.find(world[0].id)) == (1, None)
    work_off()
    _assert_only_ana_is_erased(state, totals)


@pytest.mark.sqlite("its log")
def test_an_erasure_ends_when_no_reader_needs_the_log_any_more(
    state: Stored, world: tuple[Contact, ClaimedDelivery], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "READER_PAUSE_SECONDS", 0)
    totals = _totals()
    reader = state.keeping()
    assert reader.kept is not None
    reader.kept.execute("BEGIN")
    assert reader.kept.execute("SELECT count(*) FROM contact").fetchone() != (0,)
    Erasure.begin(world[0])
    assert erasing.work_off(), "the next round begins at once"
    [unfinished] = Erasure.select()
    assert unfinished.known_ids == []
    reader.close()
    work_off()
    _assert_only_ana_is_erased(state, totals)


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[Erasure]:
    """The erasures of the slices that follow, each of one batch and a millisecond."""
    monkeypatch.setattr(erasing, "SLICE_SECONDS", 0)
    seen: list[Erasure] = []
    release = Erasure.release

    def note(erasure: Erasure, due_at: int) -> bool:
        seen.append(erasure)
        clock.advance(milliseconds=1)
        return release(erasure, due_at)

    monkeypatch.setattr(Erasure, "release", note)
    return seen


def test_accounts_take_turns(number: Number, slices: list[Erasure]) -> None:
    other = factories.active_number(Account.open("Rival", "pro"), "1002")
    for index in range(10):
        Erasure.begin(factories.contact(number, phone=f"1555000000{index}"))
    Erasure.begin(factories.contact(other, **ANA))
    work_off()
    accounts = [erasure.account_id for erasure in slices]
    needed = accounts.count(other.account_id)
    assert len(accounts) == 11 * needed
    assert accounts[: 2 * needed].count(other.account_id) == needed
    ids = [erasure.id for erasure in slices if erasure.account_id == number.account_id]
    assert ids == sorted(ids), "the oldest of an account ends first"


def test_a_slice_continues_where_the_last_one_ended(
    number: Number, slices: list[Erasure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "MOST_SCANNED", 4)
    monkeypatch.setattr(erasing, "MANY", 2)
    ApiRequest.record([_request(number, "/messages", "") for _ in range(9)])
    ApiRequest.record([_request(number, f"/contacts/+{ANA['phone']}", "") for _ in range(9)])
    Erasure.begin(factories.contact(number, **ANA))
    while erasing.work_off():
        assert len(slices) < 30, "it begins again"
    assert {row.path for row in ApiRequest.select()} == {"/messages"}
    assert ApiRequest.select().count() == 9


def test_one_of_two_workers_gets_an_erasure_until_its_lease_ends(
    number: Number, clock: Clock
) -> None:
    Erasure.begin(factories.contact(number, **ANA))
    row = Erasure.get()
    assert [row.claim_this() is not None for _ in range(2)] == [True, False]
    assert erasing._turns.claim() is None
    clock.advance(milliseconds=LEASE_MS)
    assert erasing._turns.claim() == row


@pytest.mark.usefixtures("number")
def test_deliveries_about_a_person_are_never_attempted(account: Account) -> None:
    factories.webhook(account)
    ingest_now(messages(messages=[_of(ANA, "wamid.ANA")]))
    ingest_now(messages(messages=[_of(BEA, "wamid.BEA")]))
    assert Delivery.select().count() == 2
    [ana] = Contact.select().where(Contact.phone == ANA["phone"])
    Erasure.begin(ana)
    [claimed] = factories.claim_due(10, TERMS)
    assert BEA["phone"].encode() in claimed.content.body


def test_a_status_emits_no_event_while_its_message_waits_for_its_erasure(
    account: Account, number: Number
) -> None:
    factories.webhook(account)
    made = [accepted_message(number, f"wamid.{each}") for each in (1, 2, 3)]
    contact = Contact.by_id(made[0].contact_id)
    assert contact is not None
    Erasure.begin(contact)
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))
    assert kinds() == ["message.sent"] * 2
    work_off()
    assert kinds() == []


def test_a_running_send_and_later_statuses_restore_no_erased_data(
    account: Account, number: Number, state: Stored
) -> None:
    factories.webhook(account)
    message = factories.outbound(number, ANA["phone"], "quixotic")
    contact = Contact.by_id(message.contact_id)
    assert contact is not None
    erasing.erase_now(contact)
    with writing():
        sent = message_status.record_acceptance(message, Acceptance("wamid.ANA"), contact)
    assert (sent.id, sent.wa_message_id) == (message.id, "wamid.ANA")
    message_status.give_up(message.id)
    late = _status(ANA, "wamid.ANA", "read", biz_opaque_callback_data=message.id)
    ingest_now(messages(statuses=[late]))
    assert _found_in_tables(state, HERS) == set()
    assert (Event.select().count(), SetAside.select().count()) == (0, 0)


def test_a_running_send_is_removed_first(number: Number) -> None:
    """Its end finds no message, and emits nothing."""
    running = factories.outbound(number)
    accepted_message(number, "wamid.1")
    contact = Contact.by_id(running.contact_id)
    assert contact is not None
    Erasure.begin(contact)
    assert Message.by_id(running.id) is None


def test_a_reader_of_events_continues_after_an_erased_one(account: Account, number: Number) -> None:
    factories.webhook(account)
    message = accepted_message(number, "wamid.1")
    events, place = Wanted(account.id).read(START, 10)
    assert [event.subject_id for event in events] == [message.id]
    contact = Contact.by_id(message.contact_id)
    assert contact is not None
    erasing.erase_now(contact)
    assert Wanted(account.id).read(place, 10) == ([], place)


def test_a_phone_number_that_another_person_has_now_is_that_person_s(number: Number) -> None:
    ana, bea = (factories.contact(number, **each) for each in (ANA, BEA))
    factories.contact(number, **BEA | {"phone": ANA["phone"]})
    store(messages(messages=[_of(ANA, "wamid.BEA")]))
    erasing.erase_now(ana)
    ingest.work_off()
    assert [row.contact_id for row in Message.select()] == [bea.id]


def test_a_later_message_makes_a_new_contact(number: Number) -> None:
    before = factories.contact(number, **ANA)
    with writing():
        before.opt(out=True, because=Source.API, at=clock.now())
    Erasure.begin(before)
    after = factories.contact(number, **ANA)
    assert after.id != before.id
    assert (after.opted_out_at, after.history()) == (None, [])


# An erasure that has ended, and one whose worker has not begun.
ERASES = pytest.mark.parametrize("erase", [erasing.erase_now, Erasure.begin])


@ERASES
def test_a_callback_that_waits_brings_nothing_of_the_person_back(
    number: Number, state: Stored, erase: Erase
) -> None:
    ana = factories.contact(number, **ANA)
    paid = {"field": "payments", "value": {"recipient": ANA["phone"]}}
    store(
        messages(
            messages=[_of(BEA, "wamid.BEA"), _of(ANA, "wamid.ANA")],
            statuses=[_status(ANA, "wamid.ANA.9", "read")],
        ),
        {"id": "2001", "changes": [paid]},
    )
    erase(ana)
    ingest.work_off()
    assert [row.from_number for row in Message.select()] == [BEA["phone"]]
    work_off()
    assert _found_in_tables(state, HERS) == set()


def test_a_callback_with_two_erased_people_brings_none_back(number: Number, clock: Clock) -> None:
    people = [factories.contact(number, **each) for each in (ANA, BEA)]
    store(messages(messages=[_of(BEA, "wamid.BEA"), _of(ANA, "wamid.ANA")]))
    for person in people:
        clock.advance(milliseconds=1)
        Erasure.begin(person)
    clock.advance(milliseconds=1)
    # The rest of the callback is another one, which is as old.
    erasing.finish(Erasure.select().order_by(Erasure.id).get())
    ingest.work_off()
    assert (Message.select().count(), Contact.select().count()) == (0, 0)


def test_an_item_aside_with_two_erased_people_is_removed(number: Number, clock: Clock) -> None:
    people = [factories.contact(number, **each) for each in (ANA, BEA)]
    both = messages(messages=[_of(BEA, "wamid.BEA"), _of(ANA, "wamid.ANA")])
    SetAside.record(Reason.FAILED, json.dumps({"entry": [both]}).encode(), PHONES)
    for person in people:
        clock.advance(milliseconds=1)
        Erasure.begin(person)
    clock.advance(milliseconds=1)
    work_off()
    assert SetAside.select().count() == Mention.select().count() == 0


def test_of_an_item_aside_the_rest_is_kept_until_its_person_is_erased(number: Number) -> None:
    people = [factories.contact(number, **each) for each in (ANA, BEA)]
    both = messages(messages=[_of(BEA, "wamid.BEA"), _of(ANA, "wamid.ANA")])
    SetAside.record(Reason.FAILED, json.dumps({"entry": [both]}).encode(), PHONES, error="killed")
    erasing.erase_now(people[0])
    [left] = SetAside.waiting()
    assert (left.reason, left.error) == (Reason.FAILED, "killed")
    assert [name in bytes(left.body) for name in (b"wamid.BEA", b"wamid.ANA")] == [True, False]
    erasing.erase_now(people[1])
    assert SetAside.select().count() == Mention.select().count() == 0


@pytest.mark.parametrize("written", ["to_{}.jpg", "{}.", "wamid-{}_1"])
@pytest.mark.parametrize("name", ["phone", "user_id"])
def test_a_person_is_mentioned_also_inside_a_longer_word(written: str, name: str) -> None:
    """A letter or a digit beside it makes another identifier."""
    text = written.format(ANA[name])
    assert mentions.is_in_text([ANA[name]])(text)
    assert ANA[name] in mentions.words_of(text.encode())


def test_an_item_that_was_settled_does_not_come_back(number: Number) -> None:
    ana = factories.contact(number, **ANA)
    both = messages(messages=[_of(BEA, "wamid.BEA"), _of(ANA, "wamid.ANA")])
    SetAside.record(Reason.FAILED, json.dumps({"entry": [both]}).encode(), PHONES)
    SetAside.get().settle()
    erasing.erase_now(ana)
    assert SetAside.select().count() == 0


def test_an_item_aside_of_another_number_is_kept(number: Number) -> None:
    ana = factories.contact(number, **ANA)
    factories.active_number(Account.open("Rival", "pro"), "1002")
    theirs = messages("1002", messages=[_of(ANA, "wamid.ANA")])
    SetAside.record(Reason.FAILED, json.dumps({"entry": [theirs]}).encode(), PHONES)
    erasing.erase_now(ana)
    assert len(SetAside.waiting()) == 1


def test_a_message_that_mentions_an_erased_person_is_kept(number: Number) -> None:
    ana = factories.contact(number, **ANA)
    store(messages(messages=[_of(BEA, "wamid.BEA") | {"text": {"body": f"Ask {ANA['phone']}"}}]))
    erasing.erase_now(ana)
    ingest.work_off()
    assert [row.from_number for row in Message.select()] == [BEA["phone"]]


def test_items_that_the_first_release_set_aside_are_found_before_and_after_they_are_indexed(
    number: Number, state: Stored
) -> None:
    for told in (ANA, BEA):
        person = factories.contact(number, **told)
        with writing():
            factories.set_aside_by_the_first_release(messages("999", messages=[_of(told, "wamid")]))
        if told is BEA:
            mentions.index_old()
            assert not SetAside.unindexed().exists()
        erasing.erase_now(person)
        assert _found_in_tables(state, (told["phone"],)) == set()
    assert SetAside.select().count() == 0


@ERASES
def test_a_callback_that_is_erased_after_its_claim_brings_nothing_back(
    number: Number, monkeypatch: pytest.MonkeyPatch, erase: Erase
) -> None:
    ana = factories.contact(number, **ANA)
    store(messages(messages=[_of(BEA, "wamid.BEA"), _of(ANA, "wamid.ANA")]))

    def parse_slowly(network: CloudApi, body: bytes, now: int) -> list[Part]:
        monkeypatch.undo()
        parts = network.parse(body, now)
        erase(ana)
        return parts

    monkeypatch.setattr(CloudApi, "parse", parse_slowly)
    ingest.work_off()
    ingest.work_off()
    assert [row.from_number for row in Message.select()] == [BEA["phone"]]
    assert [row.phone for row in Contact.select()] == [BEA["phone"]]


@ERASES
@pytest.mark.parametrize("tries", [MAX_TRIES - 1, MAX_TRIES])
def test_a_callback_that_is_erased_during_its_last_try_is_not_set_aside(
    number: Number, monkeypatch: pytest.MonkeyPatch, tries: int, erase: Erase
) -> None:
    ana = factories.contact(number, **ANA)
    store(messages(messages=[_of(ANA, "wamid.ANA") | {"text": {"body": "bad"}}]))
    with writing():
        Callback.update(tries=tries).execute()
    claim = Callback.claim_many

    def interrupt(*_: Any) -> None:
        monkeypatch.undo()
        erase(ana)

    def claim_slowly(*limits: int) -> list[Callback]:
        claimed = claim(*limits)
        interrupt()
        return claimed

    if tries == MAX_TRIES:
        monkeypatch.setattr(Callback, "claim_many", claim_slowly)
    else:
        monkeypatch.setattr(ingestion.logger, "exception", interrupt)
    with refusing_text("bad"):
        ingest.work_off()
    assert Contact.select().count() == 0
    assert SetAside.waiting() == []


def test_a_message_that_arrives_during_the_erasure_is_kept(number: Number, clock: Clock) -> None:
    made = [accepted_message(number, f"wamid.{each}") for each in (1, 2, 3)]
    Erasure.begin(Contact.get_by_id(made[0].contact_id))
    clock.advance(milliseconds=1)
    store(messages(messages=[text("wamid.LATER")]))
    work_off()
    ingest.work_off()
    assert [row.wa_message_id for row in Message.select()] == ["wamid.LATER"]


def test_a_message_that_is_ingested_during_the_erasure_is_kept(
    number: Number, clock: Clock
) -> None:
    store(messages(messages=[_of(ANA, "wamid.BEFORE")]))
    Erasure.begin(factories.contact(number, **ANA))
    clock.advance(milliseconds=1)
    ingest_now(messages(messages=[_of(ANA, "wamid.LATER")]))
    work_off()
    assert [row.wa_message_id for row in Message.select()] == ["wamid.LATER"]


@pytest.mark.parametrize("is_indexed", [True, False])
def test_an_item_that_is_set_aside_during_the_erasure_is_kept(
    number: Number, clock: Clock, *, is_indexed: bool
) -> None:
    Erasure.begin(factories.contact(number, **ANA))
    clock.advance(milliseconds=1)
    later = messages(messages=[_of(ANA, "wamid.LATER")])
    with writing():
        if is_indexed:
            SetAside.record(Reason.FAILED, json.dumps({"entry": [later]}).encode(), PHONES)
        else:
            factories.set_aside_by_the_first_release(later)
    work_off()
    assert len(SetAside.waiting()) == 1


def test_a_message_that_is_removed_meanwhile_is_not_put_into_the_index(
    number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = factories.outbound(number, ANA["phone"], "quixotic")
    contact = Contact.by_id(message.contact_id)
    assert contact is not None
    blocks_of = search._blocks_of

    def erase_first(rows: Any) -> Any:
        Erasure.begin(contact)
        return blocks_of(rows)

    with monkeypatch.context() as patch:
        patch.setattr(search, "_blocks_of", erase_first)
        later = clock.now() + 1
        assert search.add(later, later, 10) == 0
    assert search.SearchBlock.select().count() == 0


@pytest.mark.parametrize("waba_id", ["2001", "2002"])
def test_a_waiting_notice_about_our_own_number_stays(
    account: Account, number: Number, waba_id: str
) -> None:
    factories.active_number(account, "1002", waba_id, phone_number=ANA["phone"])
    value = {"display_phone_number": ANA["phone"], "event": "FLAGGED"}
    store({"id": waba_id, "changes": [{"field": "phone_number_quality_update", "value": value}]})
    erasing.erase_now(factories.contact(number, phone=ANA["phone"]))
    ingest.work_off()
    assert [row.waba_id for row in Notice.select()] == [waba_id]


def test_a_notice_about_our_own_number_stays(account: Account, number: Number) -> None:
    other = factories.active_number(account, "1002", phone_number=ANA["phone"])
    ana = factories.contact(number, phone=ANA["phone"])
    factories.notice("quality", {"display": other.phone_number}, other.phone_number)
    assert erasing.erase_now(ana)["notices"] == 0
    assert Notice.select().count() == 1
    assert Message.select().where(Message.status == MessageStatus.PENDING).count() == 0

"""The cost of queries of the hot paths, the lists and the sweep does not grow with the tables.

Each finds its rows by an index, in the index order, on every supported database.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import pytest

from handlers import deliveries, events, messages, usage
from models import clock
from models.accounts.account import Account, ApiKey
from models.accounts.api_request import RequestFilter
from models.database import fetch, writing
from models.deliveries.attempt import Attempt, record_outcomes
from models.deliveries.backlog import Backlog, oldest_waiting
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import LEAST_TRIES, ClaimedDelivery, Terms, bring_back, claim_due
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages import contact_search, reach
from models.messages.callback import Callback, SetAside
from models.messages.contact import Contact
from models.messages.contact_search import (
    conversations,
    last_inbound,
    messages_before,
)
from models.messages.erasure import Erasure
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.messages.suppression import Suppression
from models.messages.template import Template
from models.numbers.number import Number
from models.reports import activity, tally
from models.reports.incident import AlertTarget, Incident
from networks.interface import Acceptance
from services import notify, sending, template_copy
from services.live_updates import LiveBlocks, Source
from tasks import ingest
from tasks.retention import KINDS, remove_deleted, remove_old
from tasks.sweep import recall
from tests import factories
from tests.conftest import shared_state
from tests.fake_templates import definition, known
from tests.plans import queries_of

LEASE_MS = 30_000
TIME = "2026-11-20T09:30:00.000Z"
MANY = 1_000
# Versions of SQLite name the sorted part differently.
PARTS = ("", "LAST TERM OF ", "RIGHT PART OF ", *(f"LAST {count} TERMS OF " for count in (2, 3, 4)))
SORTS = tuple(f"USE TEMP B-TREE FOR {part}ORDER BY" for part in PARTS)


class AcceptingNetwork:
    """Accepts every message."""

    async def send(self, *_: object) -> Acceptance:
        """The same identifier each time."""
        return Acceptance("wamid.1")


@dataclass(frozen=True)
class World:
    """An account with a message, and a webhook with a delivery under way."""

    account: Account
    key: str
    number: Number
    webhook: Webhook
    message: Message
    claimed: list[ClaimedDelivery]

    @property
    def delivery(self) -> Delivery:
        """The delivery under way."""
        return Delivery.get_by_id(self.claimed[0].delivery_id)


@pytest.fixture(scope="module", autouse=True)
def small_files() -> None:
    """A new database. PostgreSQL plans by the size of files, which deletions of other tests leave large."""
    shared_state.cache_clear()


@pytest.fixture
def world(account: Account, number: Number, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("services.sending.network_of", lambda _: AcceptingNetwork())
    AlertTarget.record(account.id, ["ada@example.com"], None)
    webhook = factories.webhook(account)
    message = factories.outbound(number)
    factories.deliveries(account, webhook)
    key = ApiKey.issue(account, "test")[1]
    return World(
        account, key, number, webhook, message, claim_due(10, Terms(10, LEASE_MS)).deliveries
    )


Work = Callable[[World], object]


def _bring_back(world: World) -> None:
    with writing():
        Delivery.update(due_at=0).where(Delivery.id == world.delivery.id).execute()
    bring_back(LEAST_TRIES)
    assert world.delivery.due


def _ingest(world: World, **items: object) -> None:
    value = {"metadata": {"phone_number_id": world.number.phone_number_id}, **items}
    entry = {"id": "2001", "changes": [{"field": "messages", "value": value}]}
    Callback.store(json.dumps({"entry": [entry]}).encode())
    ingest.work_off()


def _ingest_status(world: World, name: str, **more: object) -> None:
    status = {"id": "wamid.9", "status": name, "timestamp": "1795167002", **more}
    _ingest(world, statuses=[status | {"biz_opaque_callback_data": world.message.id}])


def _ingest_text(world: World) -> None:
    text = {"from": "15551234567", "id": "wamid.IN", "timestamp": "1795167001", "type": "text"}
    _ingest(world, messages=[text | {"text": {"body": "Hi"}}])


def _send(world: World) -> None:
    body = {"number_id": world.number.id, "to": "15551234567", "type": "text"}
    asyncio.run(sending.send(world.account.id, body | {"text": {"body": "Hi"}}, "key-1"))


def _send_template(world: World) -> None:
    known(world.number, definition())
    given = [{"type": "body", "parameters": [{"type": "text", "text": "x"}] * 2}]
    content = {"name": "order_shipped", "language": {"code": "en_US"}, "components": given}
    body = {"number_id": world.number.id, "to": "15551234567", "type": "template"}
    asyncio.run(sending.send(world.account.id, body | {"template": content}, "key-1"))


def _follow_template(world: World) -> None:
    known(world.number, definition())
    value = {"event": "PAUSED", "message_template_id": 501}
    change = {"field": "message_template_status_update", "value": value}
    entry = {"id": "2001", "time": 1_795_167_002, "changes": [change]}
    Callback.store(json.dumps({"entry": [entry]}).encode())
    ingest.work_off()


def _send_twice(world: World) -> None:
    _send(world)
    _send(world)


def _release(world: World) -> None:
    with writing():
        IdempotencyKey.release(world.message)


def _forget_keys(_world: World) -> None:
    with writing():
        IdempotencyKey.forget_expired()


def _recall_callbacks(_world: World) -> None:
    Callback.store(b"{}")
    [claimed] = Callback.claim_many(LEASE_MS, 1)
    with writing():
        Callback.update(due_at=1).where(Callback.id == claimed.id).execute()
    assert Callback.recall_dead() == 1


def _skip(world: World) -> None:
    with writing():
        Delivery.skip_waiting(world.webhook.id)


def _remove_deleted(world: World) -> None:
    record_outcomes(map(factories.failure, world.claimed), lambda _: None, 10)
    with writing():
        world.webhook.mark_deleted()
    assert remove_deleted(10) > 0


def _redeliver(world: World) -> None:
    states = [DeliveryState.PENDING, *DeliveryState]
    chosen = Redelivery.request(world.webhook.id, states=states, since=1, until=None)
    Redelivery.before_first_attempt(world.webhook.id, chosen)
    Redelivery.states(chosen)
    [webhook_id] = Redelivery.webhook_ids()
    Redelivery.schedule_part(webhook_id, 50, 5_000)
    world.delivery.redeliver()


def _look(world: World) -> None:
    """A poll of attempts and notices, with some of each."""
    blocks = LiveBlocks()
    record_outcomes(map(factories.failure, world.claimed), lambda _: 1, 10)
    factories.notice()
    assert len(blocks.read({source: {world.account.id} for source in Source})) == len(Source)


HOT_PATHS: dict[str, Work] = {
    "a key is looked up": lambda world: factories.owner(world.key),
    "a message is sent, and again": _send_twice,
    "a template is sent": _send_template,
    "a callback about a template is taken in": _follow_template,
    "a key is released": _release,
    "a callback is stored": lambda _: Callback.store(b"{}"),
    "a status is taken in": lambda world: _ingest_status(world, "delivered"),
    "a failure is taken in": lambda world: _ingest_status(
        world, "failed", errors=[{"code": 131026}]
    ),
    "an inbound text is taken in": _ingest_text,
    "due deliveries are claimed": lambda _: claim_due(10, Terms(20, LEASE_MS)),
    "what has waited is brought back": _bring_back,
    "a success is recorded": lambda world: record_outcomes(
        [*map(factories.success, world.claimed)], lambda _: 1, 10
    ),
    "a failure is recorded": lambda world: record_outcomes(
        [*map(factories.failure, world.claimed)], lambda _: 1, 10
    ),
    "an event is discarded": lambda world: record_outcomes(
        [*map(factories.failure, world.claimed)], lambda _: None, 1
    ),
    "waiting deliveries are skipped": _skip,
    "deliveries are chosen and delivered again": _redeliver,
}

READS: dict[str, Work] = {
    "a message is read": lambda world: messages.get_message(world.account.id, world.message.id),
    "a message's events are read": lambda world: Delivery.of_events(
        [event.id for event in Event.of_subject(world.account.id, "num_1")]
    ),
    "a delivery is read": lambda world: deliveries.get_delivery(
        world.account.id, world.delivery.id
    ),
    "attempts are read": lambda world: Attempt.of(world.delivery),
    "what was recorded since the last look is read": _look,
    "contacts are listed": lambda world: last_inbound(
        contact_search.search(world.account.id, 20, 0).rows
    ),
    "contacts of a number are listed": lambda world: contact_search.search(
        world.account.id, 20, 0, number=world.number.id
    ),
    "contacts are found": lambda world: contact_search.search(world.account.id, 20, 0, text="1"),
    "contacts are found by name": lambda world: contact_search.search(
        world.account.id, 20, 0, name="x"
    ),
    "contacts are found by phone": lambda world: contact_search.search(
        world.account.id, 20, 0, phone="15551234567"
    ),
    "contacts are found by username": lambda world: contact_search.search(
        world.account.id, 20, 0, username="ada"
    ),
    "conversations are listed": lambda world: conversations(world.account.id, 20, "msg_Z"),
    "conversations of a number are listed": lambda world: conversations(
        world.account.id, 20, None, world.number.id
    ),
    "a conversation is read": lambda world: messages_before(
        Contact.get_by_id(world.message.contact_id), 20, "msg_Z"
    ),
    "API requests are listed": lambda world: RequestFilter(key_id="key_1").newest(
        world.account.id, 20, "arq_1"
    ),
    "failed API requests are listed": lambda world: RequestFilter("5xx").newest(
        world.account.id, 20, None
    ),
    "templates are listed": lambda world: Template.search(world.number, 20, 0, name="x"),
    "usage is listed": lambda world: usage.list_usage(world.account.id, 20, 0, since="2026-11-01"),
    "usage is exported": lambda world: usage.export_usage(world.account.id, world.number.id),
    "events are read": lambda world: events.list_events(world.account.id, 20),
    "events of one kind and time are read": lambda world: events.list_events(
        world.account.id, 20, kind=["message.sent"], since=TIME
    ),
    "the oldest waiting delivery is found": lambda world: oldest_waiting([world.webhook.id]),
    "templates in some states are found": lambda world: Template.in_states(
        world.account.id, ["PAUSED", "REJECTED"]
    ),
    "numbers are listed": lambda world: Number.page(world.account.id, 20, 0),
    "webhooks are listed": lambda world: Webhook.page(world.account.id, 20, 0),
}

SWEEP: dict[str, Work] = {
    "deliveries of the future are recalled": lambda _: recall(),
    "due lists of templates are claimed": lambda _: template_copy.read_due(),
    "waiting callbacks are claimed": lambda _: Callback.claim_many(LEASE_MS, 10),
    "callbacks of dead workers are recalled": _recall_callbacks,
    "the oldest callback is found": lambda _: Callback.oldest_waiting(),
    "parked statuses are matched": lambda _: SetAside.matchable(),
    "items of a person are found": lambda _: fetch(
        SetAside.mentioning(["15551234567"]).where(SetAside.id > "").order_by(SetAside.id).limit(10)
    ),
    "items without an index are found": lambda _: fetch(
        SetAside.unindexed().order_by(SetAside.id).limit(10)
    ),
    "an erasure is claimed": lambda _: Erasure.claim_after(""),
    "dead sends are found": lambda _: Message.unsettled_before(MessageStatus.PENDING, clock.now()),
    "expired keys are forgotten": _forget_keys,
    "deliveries of a deleted webhook are removed": _remove_deleted,
    "shards are folded": lambda _: tally.fold(),
    "incidents are looked for": lambda _: notify.watch(),
    "incidents are claimed": lambda _: Incident.claim(1_000),
    "old totals are removed": lambda _: remove_old(),
    "the backlog is measured": lambda _: Backlog.read(),
    "what is set aside is counted": lambda _: SetAside.counts(),
    **{
        f"old {kind.name} are removed": lambda _, kind=kind: kind.remove(  # type: ignore[misc]
            clock.now() + 10**9, 10
        )
        for kind in KINDS
    },
}

# Sorted, but few by nature: rows of one message, delivery, claim, request or network's number, waiting
# webhooks, an account's numbers and webhooks, and a number's usage of a day.
FEW = {
    "a message is sent, and again",
    "a template is sent",
    "a callback about a template is taken in",
    "templates are listed",
    "templates in some states are found",
    "a status is taken in",
    "a failure is taken in",
    "an inbound text is taken in",
    "due deliveries are claimed",
    "callbacks of dead workers are recalled",
    "deliveries are chosen and delivered again",
    "a message's events are read",
    "a delivery is read",
    "attempts are read",
    "numbers are listed",
    "webhooks are listed",
    "usage is exported",
    "parked statuses are matched",
}


FINDS: list[dict[str, str]] = [
    {},
    {"phone": "15551234567"},
    {"type_": "text"},
    {"type_": "image"},
    {"wa_message_id": "wamid.1"},
    {"reference": "order-4711"},
    {"error_text": "131047"},
    {"error_text": "engagement"},
]
TALLIED: list[dict[str, str]] = [
    {},
    {"number_id": "the number's"},
    {"direction": "INBOUND"},
    {"status": "failed"},
    {"status": "read"},
]
TIMES: list[dict[str, str]] = [{}, {"since": TIME}, {"since": TIME, "until": TIME}]


def _lists() -> Iterator[tuple[str, Work]]:
    """Every combination of the filters that the API has."""
    for is_of_number, direction, status in product(
        (False, True), (None, "INBOUND", "OUTBOUND"), (None, *MessageStatus)
    ):

        def list_messages(
            world: World,
            is_of_number: bool = is_of_number,  # noqa: FBT001 - bound where it is made
            direction: str | None = direction,
            status: str | None = status,
        ) -> None:
            number_id = world.number.id if is_of_number else None
            messages.list_messages(world.account.id, 20, 40, number_id, direction, status)

        yield (
            f"messages {'of a number ' if is_of_number else ''}{direction} {status}",
            list_messages,
        )
    for state, kind, since, until in product(
        (None, *DeliveryState), (None, "message.sent", "number.banned"), (None, TIME), (None, TIME)
    ):

        def list_deliveries(
            world: World,
            filters: tuple[str | None, ...] = (state, kind, since, until),
        ) -> None:
            user, webhook_id = world.account.id, world.webhook.id
            deliveries.list_webhook_deliveries(user, webhook_id, 20, 40, *filters)

        yield f"deliveries {state} {kind} {since} {until}", list_deliveries


def _finds() -> Iterator[tuple[str, Work]]:
    """The filters of messages that are not tallied: alone, with those that are, and within a time."""
    for given, tallied, time in product(FINDS, TALLIED, TIMES):
        if filters := given | tallied | time:

            def find(world: World, filters: dict[str, str] = filters) -> None:
                ours = {"number_id": world.number.id} if "number_id" in filters else {}
                messages.list_messages(world.account.id, 20, 40, **filters | ours)

            yield f"messages {filters}", find


WORK = {**HOT_PATHS, **READS, **SWEEP}


@pytest.mark.parametrize("name", WORK)
def test_no_query_looks_at_every_row_or_sorts_many(world: World, name: str) -> None:
    found = [
        (query.sql, complaint)
        for query in queries_of(lambda: WORK[name](world))
        for complaint in query.complaints()
        if not (
            name in FEW
            and (complaint in SORTS or complaint.startswith(("Sort", "Incremental Sort")))
        )
    ]
    assert found == []


def test_no_list_looks_at_every_row_sorts_or_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all filters. Only a list limited in time is counted, by the index of the times."""
    found = []
    for name, work in _lists():
        queries = queries_of(lambda work=work: work(world))  # type: ignore[misc]
        if TIME not in name:
            found += [(name, query.sql, "counts") for query in queries if "COUNT" in query.sql]
        with monkeypatch.context() as patch:
            # A page of a filter whose total is 0 reads no rows.
            patch.setattr("models.page._count", lambda *_: MANY)
            queries += queries_of(lambda work=work: work(world))  # type: ignore[misc]
        assert any("ORDER BY" in query.sql for query in queries), name
        found += [(name, query.sql, each) for query in queries for each in query.complaints()]
    assert found == []


def test_no_filter_of_messages_reads_every_row_or_sorts_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a time may be sorted where few of all times match, such as those of one person."""
    found = []
    for name, work in _finds():
        narrow = ("phone", "wa_message_id", "reference", "error", "image")
        is_few = any(each in name for each in narrow)
        queries = queries_of(lambda work=work: work(world))  # type: ignore[misc]
        with monkeypatch.context() as patch:
            patch.setattr("models.page._count", lambda *_: MANY)
            queries += queries_of(lambda work=work: work(world))  # type: ignore[misc]
        found += [
            (name, complaint)
            for query in queries
            for complaint in query.complaints()
            if not (is_few and complaint.startswith(("Sort", "Incremental Sort", *SORTS)))
        ]
    assert found == []


@pytest.mark.parametrize("time", TIMES[1:])
def test_failed_messages_of_a_time_are_found_among_those_that_did_not_arrive(
    world: World, monkeypatch: pytest.MonkeyPatch, time: dict[str, str]
) -> None:
    """Nearly all messages of a long period arrived."""
    monkeypatch.setattr("models.page._count", lambda query, _: query.count() + MANY)
    queries = queries_of(
        lambda: messages.list_messages(world.account.id, 20, 40, status="failed", **time)
    )
    assert len(queries) == len(("count", "rows"))
    for query in queries:
        assert any("message_unarrived" in step for step in query.steps()), query.sql
        assert query.complaints() == []


@pytest.mark.parametrize("others", [{}, *TALLIED[3:], *TIMES[1:]])
def test_messages_of_a_reference_are_found_by_its_index(
    world: World, monkeypatch: pytest.MonkeyPatch, others: dict[str, str]
) -> None:
    factories.outbound(world.number, reference="order-4711")
    monkeypatch.setattr("models.page._count", lambda query, _: query.count() + MANY)
    queries = queries_of(
        lambda: messages.list_messages(world.account.id, 20, 40, reference="order-4711", **others)
    )
    assert len(queries) == len(("count", "rows"))
    for query in queries:
        assert any("message_reference" in step for step in query.steps()), query.sql


def test_a_status_finds_its_message_by_the_networks_identifier(world: World) -> None:
    queries = queries_of(lambda: _ingest_status(world, "delivered"))
    steps = [
        step
        for query in queries
        if query.sql.startswith("SELECT") and '"wa_message_id" ' in query.sql
        for step in query.steps()
    ]
    assert any("message_wa_message_id_number_id" in step for step in steps)
    assert [step for step in steps if "message_number_id" in step] == []


def test_a_claim_chooses_its_deliveries_once(world: World) -> None:
    """A join might select them again for each due delivery."""
    factories.deliveries(world.account, world.webhook)
    queries = queries_of(lambda: claim_due(10, Terms(20, LEASE_MS)))
    [lease] = [query for query in queries if query.sql.startswith("UPDATE")]
    assert [step for step in lease.steps() if "Join" in step or "CORRELATED" in step] == []


@pytest.mark.usefixtures("account")
def test_a_claim_chooses_its_callbacks_once() -> None:
    Callback.store(b"{}", b"{}")
    queries = queries_of(lambda: Callback.claim_many(LEASE_MS, 10))
    [claim] = [query for query in queries if query.sql.startswith("UPDATE")]
    assert [step for step in claim.steps() if "Join" in step or "CORRELATED" in step] == []


def test_a_claim_reads_only_its_own_rows_with_any_backlog(world: World) -> None:
    """The index of what is due serves the choice alone; to read all of it looks cheap while it is little."""
    factories.deliveries(world.account, world.webhook)
    queries = queries_of(lambda: claim_due(10, Terms(20, LEASE_MS)))
    [lease] = [query for query in queries if query.sql.startswith("UPDATE")]
    assert len([step for step in lease.steps() if "delivery_due" in step]) == 1


@pytest.mark.parametrize("name", activity.SPANS)
def test_activity_is_bounded_by_its_span(world: World, name: str) -> None:
    """It is grouped by the step, so it is sorted; the rows are an hour's messages or totals by the hour."""

    def look() -> None:
        activity.messages(world.account.id, activity.SPANS[name], clock.now())
        activity.attempts([world.webhook.id], activity.SPANS[name], clock.now())

    for query in queries_of(look):
        assert [step for step in query.complaints() if "SCAN" in step or "Seq Scan" in step] == []


def test_a_poll_for_recorded_attempts_reads_only_new_rows(world: World) -> None:
    """And not with all deliveries of the account's webhooks."""
    steps = [step for query in queries_of(lambda: _look(world)) for step in query.steps()]
    assert [
        step for step in steps if "delivery_webhook" in step or "attempt_delivery" in step
    ] == []


@pytest.mark.usefixtures("account")
def test_a_query_without_an_index_is_detected() -> None:
    [query] = queries_of(lambda: list(Message.select().where(Message.type == "text")))
    [sorted_] = queries_of(lambda: list(Message.select().order_by(Message.to_number)))
    assert len(query.complaints()) == 1
    assert len(sorted_.complaints()) == 2


@pytest.mark.sqlite
@pytest.mark.parametrize("name", HOT_PATHS)
def test_no_query_of_a_hot_path_is_planned_again(world: World, name: str) -> None:
    found = queries_of(lambda: HOT_PATHS[name](world))
    assert found
    assert [query.sql for query in found if query.times_planned()] == []


def test_people_are_found_one_by_one_also_by_plans_from_before_there_were_any(world: World) -> None:
    people = ["15551234561", "15551234562"]

    def find() -> None:
        with writing():
            Contact.of_recipients(world.number, people)
            Suppression.known(world.account, people)
            reach.among(world.number.id, ["ctc_1", "ctc_2"])

    steps = [step for query in queries_of(find) for step in query.steps()]
    assert steps
    assert [step for step in steps if step.startswith("Filter:") and " ANY " in step] == []

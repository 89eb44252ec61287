"""Retention of each kind of row: what is removed, what stays, and the queries that find it."""

import dataclasses
import json
from contextlib import AbstractContextManager
from typing import Any

import pytest

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.database import database, writing
from models.deliveries.attempt import Attempt, record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.event import Event
from models.deliveries.host import ProvenHost
from models.deliveries.outgoing import Outgoing
from models.messages.callback import LEASE_MS, Callback, Mention, Reason, SetAside
from models.messages.content import MOST_CONTENT
from models.messages.message import Message, MessageStatus, StatusChange
from models.numbers.notice import Notice
from models.numbers.number import Number
from models.numbers.signup import Signup, SignupLink
from tasks import retention
from tasks.retention import KINDS, Kind
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due
from tests.tasks.callbacks import ingest_now, messages, text

(
    DELIVERIES,
    MESSAGES,
    EVENTS,
    _ERASED,
    SIGNUPS,
    NOTICES,
    _REQUESTS,
    INGESTED_CALLBACKS,
    SET_ASIDE,
    *_REST,
) = KINDS


def _finish_all(*, success: bool = True) -> None:
    finish = factories.success if success else factories.failure
    record_outcomes(map(finish, claim_due(100, Terms(100, 1000))), lambda _: None, 1000)


def _delivered(account: Account, count: int = 1) -> list[str]:
    webhook = factories.webhook(account)
    made = factories.deliveries(account, webhook, count=count)
    _finish_all()
    return [delivery.id for delivery in made]


def _count(*models: Any) -> tuple[int, ...]:
    return tuple(model.select().count() for model in models)


def test_a_delivery_goes_with_its_attempts_and_leaves_its_event(
    account: Account, clock: Clock
) -> None:
    _delivered(account)
    border = clock.advance(milliseconds=1)
    assert DELIVERIES.remove(border, 10) == 1
    assert _count(Delivery, Attempt, Event) == (0, 0, 1)


def test_rows_exactly_at_the_limit_stay(account: Account, clock: Clock) -> None:
    _delivered(account)
    assert DELIVERIES.remove(clock.at, 10) == 0
    assert EVENTS.remove(clock.at, 10) == 0
    assert _count(Delivery, Attempt, Event) == (1, 1, 1)


def test_a_batch_takes_no_more_than_its_size(account: Account, clock: Clock) -> None:
    _delivered(account, 5)
    clock.advance(days=1)
    assert [DELIVERIES.remove(clock.at, 2) for _ in range(4)] == [2, 2, 1, 0]


def test_a_batch_is_of_the_oldest(
    account: Account, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "WINDOW", 3)
    deliveries = dataclasses.replace(DELIVERIES)
    made = _delivered(account, 5)
    clock.advance(days=1)
    assert deliveries.remove(clock.at, 10) == 3
    assert [d.id for d in Delivery.select().order_by(Delivery.id)] == made[3:]


def test_failed_and_skipped_deliveries_go_and_pending_ones_never(
    account: Account, clock: Clock
) -> None:
    factories.deliveries(account, factories.webhook(account))
    _finish_all(success=False)
    factories.deliveries(account, factories.webhook(account, active=False))
    [waiting] = factories.deliveries(account, factories.webhook(account))
    [under_way] = factories.deliveries(account, factories.webhook(account))
    claim_due(1, Terms(1, 1000))
    clock.advance(days=400)
    assert DELIVERIES.remove(clock.at, 10) == 2
    assert [d.id for d in Delivery.select().order_by(Delivery.id)] == [waiting.id, under_way.id]


@pytest.mark.usefixtures("number")
def test_a_large_content_stays_while_a_delivery_needs_it(account: Account, clock: Clock) -> None:
    """It is only in the message."""
    large = {"body": "x" * MOST_CONTENT}
    factories.webhook(account)
    ingest_now(messages(messages=[text("wamid.1", text=large), text("wamid.2")]))
    clock.advance(days=400)
    assert MESSAGES.remove(clock.at, 10) == 1
    claimed = claim_due(10, Terms(10, 1000))
    assert json.loads(claimed[0].content.body)["data"]["body"] == large
    record_outcomes(map(factories.success, claimed), lambda _: None, 1000)
    assert [kind.remove(clock.at, 10) for kind in (DELIVERIES, MESSAGES, EVENTS)] == [2, 1, 2]


def test_an_event_goes_when_its_last_delivery_has_gone(account: Account, clock: Clock) -> None:
    hooks = [factories.webhook(account) for _ in range(2)]
    factories.deliveries(account, *hooks)
    lonely = factories.event(account)
    clock.advance(days=1)
    assert EVENTS.remove(clock.at, 10) == 1
    assert Event.get_or_none(Event.id == lonely.id) is None
    [claimed] = claim_due(1, Terms(1, 1000))
    record_outcomes([factories.success(claimed)], lambda _: None, 10)
    assert (DELIVERIES.remove(clock.at, 10), EVENTS.remove(clock.at, 10)) == (1, 0)
    _finish_all()
    assert (DELIVERIES.remove(clock.at, 10), EVENTS.remove(clock.at, 10)) == (1, 1)


def test_an_event_stays_as_long_as_its_message(
    account: Account, number: Number, clock: Clock
) -> None:
    """Otherwise a repeated callback would emit it a second time."""
    message = factories.outbound(number)
    factories.event(account, "message.sent", number.id, subject_id=message.id)
    clock.advance(days=1)
    assert EVENTS.remove(clock.at, 10) == 0
    with writing():
        message.advance(MessageStatus.FAILED, at=clock.at)
    assert (MESSAGES.remove(clock.at, 10), EVENTS.remove(clock.at, 10)) == (1, 1)


@pytest.mark.parametrize("status", list(MessageStatus))
def test_settled_messages_go_with_their_history_and_unsettled_ones_never(
    number: Number, clock: Clock, status: MessageStatus
) -> None:
    message = factories.outbound(number)
    with writing():
        message.advance(status, at=clock.at)
    clock.advance(days=400)
    settled = status not in {MessageStatus.PENDING, MessageStatus.UNKNOWN}
    assert MESSAGES.remove(clock.at, 10) == int(settled)
    kept = (*_count(Message), StatusChange.select().exists())
    assert kept == ((0, False) if settled else (1, True))


def test_callbacks_that_wait_stay(account: Account, clock: Clock) -> None:
    assert account.id
    Callback.store(b"{}")
    [claimed] = Callback.claim_many(LEASE_MS, 1)
    claimed.postpone("no")
    clock.advance(days=400)
    assert INGESTED_CALLBACKS.remove(clock.at, 10) == 0


@pytest.mark.usefixtures("account")
def test_items_set_aside_go_by_their_age_whether_settled_or_not(clock: Clock) -> None:
    with writing():
        for body in (b"settled", b"open"):
            SetAside.record(Reason.FAILED, body, ("15551234567",))
    SetAside.waiting()[0].settle()
    assert SET_ASIDE.remove(clock.at, 10) == 0
    clock.advance(days=1)
    with writing():
        SetAside.record(Reason.FAILED, b"young", ())
    assert SET_ASIDE.remove(clock.at, 10) == 2
    assert [bytes(row.body) for row in SetAside.select()] == [b"young"]
    assert Mention.select().count() == 0


def test_signups_and_notices_go_by_their_age_and_the_number_stays(
    account: Account, number: Number, clock: Clock
) -> None:
    """The platform's token is removed with an incomplete signup."""
    link = SignupLink.open(account, "acme")

    def write(code: str) -> None:
        with writing():
            Signup.begin(link, code, f"token-{code}")
            factories.notice("security", {"event": code})

    write("1")
    assert [kind.remove(clock.at, 10) for kind in (SIGNUPS, NOTICES)] == [0, 0]
    clock.advance(days=1)
    write("2")
    assert [kind.remove(clock.at, 10) for kind in (SIGNUPS, NOTICES)] == [1, 1]
    assert ([s.access_token for s in Signup.select()], [n.event for n in Notice.select()]) == (
        ["token-2"],
        ["2"],
    )
    assert Number.by_id(number.id) == number


def test_a_delivery_that_waits_for_a_redelivery_stays_a_day_longer_and_no_more(
    account: Account, clock: Clock
) -> None:
    """A receiver may take days for them, which would block all removal."""
    [delivery_id] = _delivered(account)
    webhook_id = Delivery.get_by_id(delivery_id).webhook_id
    clock.advance(days=1)
    Redelivery.request(webhook_id, states=[DeliveryState.DELIVERED], since=None, until=None)
    assert DELIVERIES.remove(clock.at, 10) == 0
    clock.advance(days=1)
    assert DELIVERIES.remove(clock.at, 10) == 1
    assert Redelivery.schedule_part(webhook_id, 50, 5_000) == 0


def test_a_delivery_that_is_rescheduled_meanwhile_is_not_removed(
    account: Account, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the query and the lock."""
    [delivery_id] = _delivered(account)
    clock.advance(days=1)

    def redeliver() -> AbstractContextManager[None]:
        Delivery.get_by_id(delivery_id).redeliver()
        return writing()

    monkeypatch.setattr("tasks.retention.writing", redeliver)
    assert DELIVERIES.remove(clock.at, 10) == 0
    assert Delivery.get_by_id(delivery_id).state == DeliveryState.PENDING


def test_nothing_old_takes_no_lock(account: Account, state: Stored) -> None:
    _delivered(account)
    with state.locked():
        assert [kind.remove(1, 10) for kind in KINDS] == [0] * len(KINDS)


def _plan(query: Any) -> list[str]:
    sql, values = query.sql()
    return [row[3] for row in database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.sqlite("the words of its query plans")
@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_old_rows_are_found_by_an_index_and_never_by_a_scan(kind: Kind) -> None:
    steps = [s for s in _plan(kind.search(1, 10)) if "SUBQUERY" not in s]
    assert all(step.startswith("SEARCH") for step in steps), steps
    index = "(id<?)" if kind.since is None else f"({kind.since.name}<?)"
    assert any(step.endswith(index) for step in steps), steps
    deletion = kind.model.delete().where(kind.model.id.in_(["x"]))
    assert all(step.startswith("SEARCH") for step in _plan(deletion))


def test_counts_of_past_minutes_and_hosts_that_responded_long_ago_go(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    with writing():
        Outgoing.count(webhook, clock.at, [5], 0)
    counts = []
    for days in (0, 1, 30):
        for minutes in (1, 1):
            clock.advance(minutes=minutes, days=days)
            retention.remove_old()
            counts.append(_count(Outgoing, ProvenHost))
    assert counts[:3] == [(1, 1), (0, 1), (0, 1)]
    assert counts[-1] == (0, 0)

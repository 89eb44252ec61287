"""Finding deliveries over several webhooks."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries import delivery_filter
from models.deliveries.attempt import Outcome, record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.delivery import UNDELIVERED, Delivery
from models.deliveries.delivery_filter import DeliveryFilter, last_attempts, people_of
from models.deliveries.webhook import Webhook
from models.messages.contact import Contact, Source
from models.messages.message import Message
from models.numbers.number import Number
from services import contacts, message_status
from tests import factories
from tests.plans import queries_of
from webhooks.kinds import EventKind


@pytest.fixture
def hooks(account: Account) -> list[Webhook]:
    """Three webhooks of the account; and one of another, with deliveries of its own."""
    other = Account.open("Other", "pro")
    factories.deliveries(other, factories.webhook(other), count=2)
    _answer(404)
    return [factories.webhook(account, f"http://127.0.0.1:9/{n}") for n in range(3)]


def _filter(hooks: list[Webhook], **wanted: object) -> DeliveryFilter:
    return DeliveryFilter([hook.id for hook in hooks], **wanted)  # type: ignore[arg-type]


def _ids(hooks: list[Webhook], **wanted: object) -> list[str]:
    return [row.id for row in _filter(hooks, **wanted).newest(100).rows]


def _answer(status: int | None, *, retry: bool = False) -> list[str]:
    """Attempt all due deliveries of the webhook with this response. Returns them, newest first."""
    claimed = factories.claim_due(100, Terms(100, 1000))
    outcomes = [
        Outcome(each.delivery_id, each.lease_token, 1, 5, success=status == 200, status_code=status)
        for each in claimed
    ]
    record_outcomes(outcomes, lambda _: 60 if retry else None, 1000)
    return sorted((each.delivery_id for each in claimed), reverse=True)


def test_deliveries_of_all_webhooks_come_newest_first(
    account: Account, hooks: list[Webhook]
) -> None:
    made = [row.id for row in factories.deliveries(account, *hooks, count=3)]
    assert _ids(hooks) == sorted(made, reverse=True)
    assert _ids(hooks[:1]) == sorted(made, reverse=True)[2::3]
    assert _filter(hooks).total() == 9
    assert _filter(hooks[:1]).total() == 3
    assert _filter([]).total() == 0


def test_the_next_page_continues_after_the_last_row(
    account: Account, hooks: list[Webhook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_filter, "PART", 2)
    made = [row.id for row in factories.deliveries(account, *hooks, count=4)]
    found, before = [], None
    while True:
        part = _filter(hooks).newest(5, before)
        found += [row.id for row in part.rows]
        if (before := part.before) is None:
            break
    assert found == sorted(made, reverse=True)
    oldest = sorted(made)
    assert [row.id for row in _filter(hooks).oldest()] == oldest
    assert [row.id for row in _filter(hooks).oldest(oldest[4])] == oldest[5:]


def test_deliveries_are_found_by_their_last_response(
    account: Account, hooks: list[Webhook]
) -> None:
    made = {}
    for answer, status in (("2xx", 200), ("4xx", 404), ("5xx", 503), ("none", None)):
        factories.deliveries(account, hooks[0])
        made[answer] = _answer(status)
    factories.deliveries(account, hooks[1])
    made["4xx"] = [*_answer(429, retry=True), *made["4xx"]]
    factories.deliveries(account, hooks[1])
    for answer, ids in made.items():
        assert _ids(hooks, answer=answer) == ids
        assert [row.id for row in _filter(hooks, answer=answer).oldest()] == ids[::-1]
    assert _ids(hooks, answer="3xx") == []
    assert _ids(hooks, answer="4xx", states=["failed"]) == made["4xx"][1:]
    assert _filter(hooks, answer="4xx").total() is None
    rows = _filter(hooks).newest(100).rows
    assert {each.status_code for each in last_attempts(rows).values()} == {200, 404, 503, 429, None}


def test_a_filter_by_response_stops_early_and_can_be_continued(
    account: Account, hooks: list[Webhook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_filter, "PART", 2)
    monkeypatch.setattr(delivery_filter, "MOST_READ", 4)
    factories.deliveries(account, hooks[0])
    [oldest] = _answer(404)
    factories.deliveries(account, hooks[0], count=6)
    _answer(503)
    part = _filter(hooks, answer="4xx").newest(5)
    assert part.rows == []
    rest = _filter(hooks, answer="4xx").newest(5, part.before)
    assert [row.id for row in rest.rows] == [oldest]


def test_state_kind_and_time_narrow_the_list(account: Account, hooks: list[Webhook]) -> None:
    [first] = factories.deliveries(account, hooks[0])
    _answer(404)
    [second] = factories.deliveries(account, hooks[1])
    assert _ids(hooks, states=["failed"]) == [first.id]
    assert _ids(hooks, states=["pending"]) == [second.id]
    assert _ids(hooks, kind="number.banned") == [second.id, first.id]
    assert _ids(hooks, kind="message.sent") == []
    assert _ids(hooks, since=first.created_at + 10**9) == []
    assert _ids(hooks, until=first.created_at) == []
    assert _filter(hooks, states=["failed"]).total() == 1


def _message_event(number: Number, to: str) -> Message:
    row = factories.outbound(number, to=to)
    with writing():
        message_status.emit_message(EventKind.MESSAGE_SENT, row)
    return row


def test_a_persons_deliveries_are_found(
    account: Account, number: Number, hooks: list[Webhook]
) -> None:
    ours, other = (_message_event(number, to) for to in ("15551234567", "15550009999"))
    factories.deliveries(account, hooks[0])
    with writing():
        person = Contact.get_by_id(ours.contact_id)
        contacts.opt(person, out=True, because=Source.API, at=ours.created_at)
    contact_ids = [str(ours.contact_id)]
    found = _filter(hooks, contact_ids=contact_ids).newest(100).rows
    assert [row.event_kind for row in found] == ["contact.updated"] * 3 + ["message.sent"] * 3
    assert len(_ids(hooks[:1], contact_ids=contact_ids)) == 2
    assert _ids(hooks, contact_ids=[]) == []
    rows = _filter(hooks[:1]).newest(100).rows
    people = people_of(rows)
    assert [people[row.id][1] for row in rows if row.id in people] == [
        "15551234567",
        "15550009999",
        "15551234567",
    ]
    assert [row.event_kind for row in rows if row.id not in people] == ["number.banned"]
    assert {contact.id for contact, _ in people.values() if contact} == {
        ours.contact_id,
        other.contact_id,
    }


def test_a_message_without_a_contact_shows_its_number(number: Number, hooks: list[Webhook]) -> None:
    row = _message_event(number, "15551234567")
    with writing():
        Message.update(contact_id=None).where(Message.id == row.id).execute()
    rows = _filter(hooks).newest(1).rows
    assert people_of(rows) == {rows[0].id: (None, "15551234567")}


def test_no_filter_looks_at_every_row_or_sorts_many(
    account: Account, number: Number, hooks: list[Webhook]
) -> None:
    factories.deliveries(account, *hooks)
    _message_event(number, "15551234567")
    found = []
    for wanted in (
        {},
        {"states": ["failed"]},
        {"states": UNDELIVERED},
        {"answer": "5xx"},
        {"answer": "2xx"},
        {"since": 1},
    ):
        queries = queries_of(lambda wanted=wanted: _filter(hooks, **wanted).newest(5, "dlv_9"))  # type: ignore[misc]
        queries += queries_of(lambda wanted=wanted: list(_filter(hooks, **wanted).oldest("dlv_0")))  # type: ignore[misc]
        # Of tallies there are few.
        queries = [query for query in queries if "tally" not in query.sql]
        found += [(wanted, q.sql, each) for q in queries for each in q.complaints()]
    # A person has few deliveries, so they may be sorted.
    contact_ids = [row.id for row in Contact.all()]
    person = queries_of(lambda: _filter(hooks, contact_ids=contact_ids).newest(5))
    rows = list(Delivery.select())
    shown = queries_of(lambda: (people_of(rows), last_attempts(rows)))
    found += [
        ({}, q.sql, each)
        for q in (*person, *shown)
        for each in q.complaints()
        if "ORDER BY" not in each and not each.startswith(("Sort", "Incremental Sort"))
    ]
    assert found == []

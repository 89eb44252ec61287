"""The list of deliveries over all webhooks, and redelivery of the selected or matching ones."""

import re
from html import unescape
from urllib.parse import quote

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from models.numbers.number import Number
from services import message_status, redeliver
from tests import factories
from tests.dashboard.conftest import Submit, Visit
from webhooks.kinds import EventKind

PATH = "/dashboard/deliveries"


@pytest.fixture
def hooks(account: Account) -> list[Webhook]:
    """Two webhooks of the account."""
    return [factories.webhook(account, f"http://127.0.0.1:9/{name}") for name in ("in", "out")]


def _fail() -> None:
    claimed = factories.claim_due(100, Terms(100, 1000))
    record_outcomes(map(factories.failure, claimed), lambda _: None, 1000)


def _chosen() -> set[str]:
    """The deliveries chosen for redelivery."""
    return {each for batch in Redelivery.select() for each in batch.delivery_ids}


def _listed(page: str) -> int:
    return page.count(f'href="{PATH}/dlv_')


def test_deliveries_of_all_webhooks_are_listed_with_answer_and_person(
    visit: Visit, number: Number, hooks: list[Webhook]
) -> None:
    row = factories.outbound(number)
    with writing():
        message_status.emit_message(EventKind.MESSAGE_SENT, row)
    assert "no attempt yet" in visit("deliveries")
    _fail()
    page = visit("deliveries")
    assert _listed(page) == 2
    for hook in hooks:
        assert hook.url in page
    assert page.count(">500</span>") == 2
    assert page.count("<small>in 5 ms,</small> <small>1 attempt</small>") == 2
    assert page.count(f'<a href="/dashboard/contacts/{row.contact_id}">') == 2
    assert "2 deliveries in all" in page


def test_each_filter_narrows_the_list(
    visit: Visit, account: Account, number: Number, hooks: list[Webhook]
) -> None:
    with writing():
        message_status.emit_message(EventKind.MESSAGE_SENT, factories.outbound(number))
    factories.deliveries(account, hooks[0])
    _fail()
    factories.deliveries(account, hooks[1])
    counts = {
        "": 4,
        f"webhook={hooks[0].id}": 2,
        "state=failed": 3,
        "state=pending": 1,
        "state=undelivered": 3,
        "kind=message.sent": 2,
        "answer=5xx": 3,
        "answer=2xx": 0,
        "answer=none": 0,
        "since=2999-01-01T00:00": 0,
        "until=2999-01-01T00:00": 4,
        "person=%2B1+555+123-4567": 2,
        "person=15550009999": 0,
        "person=ctc_1": 0,
        f"webhook={hooks[1].id}&state=failed&kind=message.sent&answer=5xx&person=15551234567": 1,
    }
    assert {query: _listed(visit(f"deliveries?{query}")) for query in counts} == counts


@pytest.mark.parametrize("query", ["state=lost", "kind=x", "answer=6xx", "since=soon", "until=1"])
def test_an_invalid_filter_shows_an_error(visit: Visit, hooks: list[Webhook], query: str) -> None:
    assert hooks
    name = query.partition("=")[0]
    assert f'aria-describedby="problem-{name}"' in visit(f"deliveries?{query}", 422)


def test_a_long_list_has_more_pages(visit: Visit, account: Account, hooks: list[Webhook]) -> None:
    made = factories.deliveries(account, hooks[0], count=52)
    first = visit(f"deliveries?webhook={hooks[0].id}")
    assert _listed(first) == 50
    assert f"webhook={hooks[0].id}&amp;before={made[2].id}" in first
    rest = visit(f"deliveries?webhook={hooks[0].id}&before={made[2].id}")
    assert _listed(rest) == 2
    assert f'href="{PATH}?webhook={hooks[0].id}"' in rest
    assert "No older delivery" in visit(f"deliveries?before={made[0].id}")


def test_another_accounts_webhook_has_no_list(visit: Visit, hooks: list[Webhook]) -> None:
    other = Account.open("Other", "pro")
    theirs = factories.webhook(other)
    factories.deliveries(other, theirs)
    assert hooks
    visit(f"deliveries?webhook={theirs.id}", 404)
    assert _listed(visit("deliveries")) == 0


def test_the_chosen_ones_are_redelivered(
    submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    first, second, third = factories.deliveries(account, hooks[0], count=3)
    _fail()
    [other] = factories.deliveries(account, hooks[1])
    _fail()
    answer = submit(
        "deliveries/redeliver-selected?state=failed",
        id=[first.id, third.id, other.id, "dlv_1"],
    )
    assert answer.headers["Location"] == f"{PATH}?state=failed"
    assert _chosen() == {first.id, third.id, other.id}
    redeliver.work_off()
    assert Delivery.get_by_id(first.id).state == DeliveryState.PENDING
    assert Delivery.get_by_id(second.id).state == DeliveryState.FAILED


def test_a_delivery_chosen_twice_is_redelivered_once(
    submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    [row] = factories.deliveries(account, hooks[0])
    _fail()
    submit("deliveries/redeliver-selected", id=row.id)
    submit("deliveries/redeliver-selected", 422, id=row.id)
    assert [batch.delivery_ids for batch in Redelivery.select()] == [[row.id]]


def test_pending_disabled_and_foreign_deliveries_are_not_redelivered(
    submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    other = Account.open("Other", "pro")
    [theirs] = factories.deliveries(other, factories.webhook(other))
    [off] = factories.deliveries(account, hooks[0])
    _fail()
    with writing():
        hooks[0].deactivate()
    [waits] = factories.deliveries(account, hooks[1])
    ids = [theirs.id, off.id, waits.id]
    answer = submit("deliveries/redeliver-selected", 422, id=ids)
    assert "Nothing to redeliver" in answer.text
    assert _chosen() == set()


def test_all_that_match_are_counted_confirmed_and_redelivered(
    visit: Visit, submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    made = factories.deliveries(account, *hooks, count=3)
    _fail()
    factories.deliveries(account, hooks[0])
    query = f"answer=5xx&webhook={hooks[1].id}"
    page = visit(f"deliveries/redeliver?{query}")
    assert "Redeliver 3 deliveries?" in page
    assert hooks[1].url in page
    assert "Redeliver 6 deliveries?" in visit("deliveries/redeliver")
    answer = submit(f"deliveries/redeliver?{query}")
    assert answer.headers["Location"] == f"{PATH}?webhook={hooks[1].id}&answer=5xx"
    assert _chosen() == {row.id for row in made if row.webhook_id == hooks[1].id}


def test_redelivering_nothing_says_so(visit: Visit, submit: Submit, hooks: list[Webhook]) -> None:
    assert hooks
    assert "Nothing to redeliver" in visit("deliveries/redeliver?state=failed")
    submit("deliveries/redeliver?state=failed", 422)
    assert (
        submit(f"deliveries/redeliver?since={quote('soon')}").headers["Location"].endswith("soon")
    )


@pytest.fixture
def two_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most two deliveries are redelivered at a time."""
    monkeypatch.setattr("dashboard.deliveries.MAX_REDELIVERIES", 2)


@pytest.mark.usefixtures("two_at_a_time")
def test_repeating_takes_the_oldest_until_none_is_left(
    visit: Visit, submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    made = [row.id for row in factories.deliveries(account, *hooks, count=2)]
    made += [row.id for row in factories.deliveries(account, hooks[0])]
    _fail()
    again = "deliveries/redeliver?state=undelivered"
    assert " at most 2 " in visit(again)
    for taken in (2, 4, 5):
        submit(again)
        assert _chosen() == set(made[:taken])
    assert "Nothing to redeliver" in visit(again)


@pytest.mark.usefixtures("two_at_a_time")
def test_repeating_excludes_deliveries_that_were_redelivered_already(
    visit: Visit, submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    made = [row.id for row in factories.deliveries(account, hooks[0], count=3)]
    _fail()
    rest = submit(f"deliveries/redeliver?webhook={hooks[0].id}").headers["Location"]
    assert rest == f"{PATH}/redeliver?webhook={hooks[0].id}&after={made[1]}"
    Redelivery.delete().execute()
    Delivery.update(state=DeliveryState.DELIVERED).execute()
    rest = rest.removeprefix("/dashboard/")
    page = visit(rest)
    assert "Redeliver 0 deliveries?" in page
    assert "Also 1 that already arrived" in page
    submit(rest, 422)
    submit(rest, include_delivered="1")
    assert _chosen() == {made[2]}


def test_what_arrived_is_sent_again_only_if_the_form_says_so(
    visit: Visit, submit: Submit, account: Account, hooks: list[Webhook]
) -> None:
    [arrived] = factories.deliveries(account, hooks[0])
    with writing():
        Delivery.update(state=DeliveryState.DELIVERED, due=False, due_at=None).execute()
    [failed] = factories.deliveries(account, hooks[0])
    _fail()
    ids = [arrived.id, failed.id]
    assert "Redeliver 1 delivery?" in visit("deliveries/redeliver")
    submit("deliveries/redeliver")
    assert _chosen() == {failed.id}
    Redelivery.delete().execute()
    submit("deliveries/redeliver-selected", id=ids)
    assert _chosen() == {failed.id}
    # It arrives before the worker schedules the redelivery.
    with writing():
        Delivery.update(state=DeliveryState.DELIVERED).where(Delivery.id == failed.id).execute()
    redeliver.work_off()
    assert Delivery.get_by_id(failed.id).state == DeliveryState.DELIVERED
    submit("deliveries/redeliver-selected", id=ids, include_delivered="1")
    assert _chosen() == set(ids)


def test_too_many_chosen_deliveries_are_all_refused(
    submit: Submit, account: Account, hooks: list[Webhook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.deliveries.bulk_redelivery.MAX_REDELIVERIES", 1)
    [first] = factories.deliveries(account, hooks[0])
    _fail()
    submit("deliveries/redeliver")
    factories.deliveries(account, *hooks)
    _fail()
    assert "already wait" in submit("deliveries/redeliver", 429).text
    assert _chosen() == {first.id}


def test_the_webhook_page_and_the_list_link_to_undelivered_events(
    visit: Visit, account: Account, hooks: list[Webhook]
) -> None:
    factories.deliveries(account, *hooks)
    _fail()
    with writing():
        hooks[0].deactivate()
    factories.deliveries(account, *hooks)
    for page in (f"webhooks/{hooks[0].id}", f"deliveries?webhook={hooks[0].id}"):
        links = re.findall(r'href="/dashboard/(deliveries\?state=undelivered[^"]+)"', visit(page))
        [link] = {unescape(each) for each in links}
        assert "&since=20" in link
        assert _listed(visit(link)) == 2
    assert "Missed deliveries" in visit("deliveries")

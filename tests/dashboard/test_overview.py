"""The overview: problems, charts, first steps, and totals equal to those of the lists."""

import re
from html import unescape
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.overview import EXTENSION
from models.accounts.account import Account, ApiKey
from models.broadcasts.broadcast import PauseCode
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.webhook import MINUTE_MS, Deactivation, Webhook
from models.messages.message import MessageStatus
from models.numbers.number import Number, NumberStatus
from models.reports.activity import SPANS
from models.reports.usage import UsageTotal, day_of
from services import broadcasts, storage
from services.broadcast_batches import HaltedError
from tests import factories
from tests.conftest import Clock, Configure
from tests.dashboard.conftest import Visit
from tests.factories import claim_due
from tests.fake_templates import definition, known


@pytest.fixture(autouse=True)
def limit(browser: FlaskClient) -> None:
    """An account with a limit of 500 requests a minute, and no requests yet."""
    browser.application.extensions[EXTENSION] = lambda _account: (500, 500, 0)


def _attention(page: str) -> list[str]:
    """The lines of the problems, as text."""
    found = re.search(r'<ul class="attention.*?</ul>', page, re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", found[0], re.DOTALL) if found else []
    return [" ".join(unescape(re.sub("<[^>]+>", " ", item)).split()) for item in items]


def _deliver(account: Account, webhook: Webhook, *, succeeds: bool) -> None:
    factories.deliveries(account, webhook)
    outcome = factories.success if succeeds else factories.failure
    record_outcomes(map(outcome, claim_due(10, Terms(10, 1_000))), lambda _: None, 99)


@pytest.mark.usefixtures("number")
def test_nothing_needs_attention_where_all_is_well(visit: Visit, account: Account) -> None:
    _deliver(account, factories.webhook(account), succeeds=True)
    factories.deliveries(account, factories.webhook(account))
    page = visit("")
    assert "Nothing needs attention." in page
    assert _attention(page) == []


def test_webhooks_that_fail_or_are_disabled_need_attention(
    visit: Visit, account: Account, clock: Clock
) -> None:
    failing = factories.webhook(account, "http://127.0.0.1:9/failing")
    _deliver(account, failing, succeeds=False)
    for name, reason in (("given-up", Deactivation.FAILURES), ("off", Deactivation.REQUESTED)):
        with writing():
            factories.webhook(account, f"http://127.0.0.1:9/{name}").deactivate(reason)
    clock.advance(hours=2)
    page = visit("")
    given_up, fails, off = _attention(page)
    assert given_up.startswith("disabled http://127.0.0.1:9/given-up ")
    assert " 2 h " in given_up
    assert "too many" in given_up
    assert off.startswith("disabled http://127.0.0.1:9/off ")
    assert " 2 h " in off
    assert "too many" not in off
    assert fails.startswith("failing http://127.0.0.1:9/failing 1 event ")
    assert f'href="/dashboard/webhooks/{failing.id}"' in page
    assert page.count("/dashboard/deliveries?state=undelivered") == 1


def test_a_webhook_that_fails_now_and_then_needs_attention_for_a_day(
    visit: Visit, account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    _deliver(account, webhook, succeeds=False)
    clock.advance(hours=25)
    _deliver(account, webhook, succeeds=False)
    _deliver(account, webhook, succeeds=True)
    said = "1 event of the last 24 hours failed after all retries."
    [line] = _attention(visit(""))
    assert line.startswith(f"some failures {webhook.url} {said}")
    page = visit(f"webhooks/{webhook.id}")
    [listed] = re.findall('href="/dashboard/(deliveries[^"]+since=[^"]+)">Failed deliveries<', page)
    assert visit(unescape(listed)).count('href="/dashboard/deliveries/dlv_') == 1
    for path in ("webhooks", f"webhooks/{webhook.id}"):
        assert said in visit(path)
        assert ">active</span>" not in visit(path)
    clock.advance(hours=25)
    assert _attention(visit("")) == []


def test_the_oldest_waiting_event_needs_attention_after_a_minute(
    visit: Visit, account: Account, clock: Clock
) -> None:
    factories.webhook(account, "http://127.0.0.1:9/silent")
    silent, disabled = Webhook.all(account.id)[0], factories.webhook(account, active=False)
    [oldest] = factories.deliveries(account, silent)
    clock.advance(minutes=1, seconds=30)
    factories.deliveries(account, silent, disabled)
    clock.advance(minutes=11)
    page = visit("")
    waiting = [line for line in _attention(page) if line.startswith("waiting")]
    assert len(waiting) == 1
    assert re.search(" 12 min number.banned .*http://127.0.0.1:9/silent", waiting[0])
    assert f'href="/dashboard/deliveries/{oldest.id}"' in page


@pytest.mark.parametrize("status", [NumberStatus.BANNED, NumberStatus.DISCONNECTED])
def test_a_lost_number_needs_attention_with_the_network_s_reason(
    visit: Visit, number: Number, status: NumberStatus
) -> None:
    with writing():
        number.move_to(status, reason="VIOLATION_SPAM")
    [line] = _attention(visit(""))
    assert line.startswith(f"{status.lower()} +{number.phone_number} Reason: Violation spam.")
    assert f'href="/dashboard/numbers/{number.id}"' in visit("")


def test_a_number_without_its_callbacks_needs_attention(visit: Visit, number: Number) -> None:
    with writing():
        number.update_details(problems_json='[{"code": "fields_missing", "detail": "x_update"}]')
    [line] = _attention(visit(""))
    assert line.startswith(f"callbacks missing +{number.phone_number}")
    assert "x_update" in line
    assert f'href="/dashboard/numbers/{number.id}"' in visit("")


def test_a_number_that_was_never_connected_needs_none(visit: Visit, account: Account) -> None:
    factories.provision(account).abandon()
    assert _attention(visit("")) == []


def test_templates_that_cannot_be_sent_need_attention(visit: Visit, number: Number) -> None:
    listed = [
        definition(f"a{position}_{status.lower()}", template_id=str(position), status=status)
        for position, status in enumerate(("APPROVED", "REJECTED", "PAUSED", "DISABLED"))
    ]
    known(number, *listed)
    page = visit("")
    found = _attention(page)
    assert [line.split()[0] for line in found] == ["rejected", "paused", "disabled"]
    assert "Template a1_rejected (en_US)" in found[0]
    assert f'href="/dashboard/numbers/{number.id}/templates"' in page


def test_a_broadcast_that_paused_by_itself_needs_attention(visit: Visit, number: Number) -> None:
    asked, stopped = (factories.started(number, "15551234567") for _ in range(2))
    broadcasts.pause(asked)
    broadcasts.halt(stopped.id, HaltedError(PauseCode.NUMBER, "The owner left."))
    page = visit("")
    assert f"/dashboard/broadcasts/{stopped.id}" in page
    assert f"/dashboard/broadcasts/{asked.id}" not in page
    assert "The owner left." in page


def test_a_long_list_of_problems_is_folded_after_the_first(visit: Visit, account: Account) -> None:
    for position in range(11):
        factories.webhook(account, f"http://127.0.0.1:9/{position}", active=False)
    page = visit("")
    assert len(_attention(page)) == 8
    assert "And 3 more" in page
    rest = page.partition("And 3 more")[2]
    assert rest.count("See webhook") == 3


def test_nothing_of_another_account_is_shown(visit: Visit, number: Number) -> None:
    other = Account.open("Other", "pro")
    factories.webhook(other, active=False)
    stranger = factories.active_number(other, "1009", "2009")
    factories.outbound(stranger)
    with writing():
        stranger.move_to(NumberStatus.BANNED)
    page = visit("")
    assert "Nothing needs attention." in page
    assert page.count("Nothing in this time.") == 4
    assert number.id not in page


@pytest.mark.parametrize("name", SPANS)
def test_the_charts_are_of_the_range_that_the_address_names(
    visit: Visit, account: Account, number: Number, clock: Clock, name: str
) -> None:
    span = SPANS[name]
    clock.at = span.starts(clock.at)[0] - 1
    _read(number)
    clock.advance(milliseconds=1)
    _read(number)
    clock.advance(milliseconds=span.step * (span.count - 1))
    factories.inbound(number)
    factories.outbound(number)
    _deliver(account, factories.webhook(account), succeeds=True)
    page = visit(f"?range={name}")
    assert f"last {SPANS[name].label}" in page
    assert f'href="/dashboard/?range={name}" aria-current="true"' in page
    assert page.count('role="img"') == page.count("<table>") == 4
    assert page.count("<tbody>") == 4
    rows = re.findall(r"<tr><th scope=.row.>", page)
    assert len(rows) == 4 * SPANS[name].count
    assert re.search(r"Read <strong>1</strong>", page)
    assert re.search(r"Median <strong>\d ms</strong>", page)
    links = re.findall(r'<a href="/dashboard/(messages\?[^"]+)">(\w+) <strong>1</strong></a>', page)
    assert [label for _, label in links] == ["Read", "Received"]
    for link, _ in links:
        assert "1 in all" in visit(unescape(link))


def _read(number: Number) -> None:
    with writing():
        factories.outbound(number).advance(MessageStatus.READ, at=1)


def test_an_unknown_range_shows_a_day(visit: Visit) -> None:
    for address in ("", "?range=", "?range=99y"):
        assert "last 24 hours" in visit(address)


def test_totals_match_the_lists_that_they_link_to(visit: Visit, number: Number) -> None:
    for position, status in enumerate([*[MessageStatus.FAILED] * 2, MessageStatus.SENT]):
        message = factories.outbound(number)
        factories.inbound(number, f"wamid.{position}")
        with writing():
            message.advance(status, at=1)
    page = visit("")
    found = re.findall(r'<a href="/dashboard/(messages\?[^"]+)">([0-9,]+) (\w+)</a>', page)
    assert [(count, label) for _, count, label in found] == [
        ("3", "sent"),
        ("2", "failed"),
        ("3", "received"),
    ]
    for address, count, _ in found:
        rows = re.findall(r'href="/dashboard/messages/msg_', visit(unescape(address)))
        assert len(set(rows)) > 0
        assert len(rows) >= int(count)


def test_a_limit_and_the_time_at_which_its_deliveries_continue_are_shown(
    visit: Visit, account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    for page in ("", f"webhooks/{webhook.id}"):
        assert "09:31 UTC" not in visit(page)
    with writing():
        Webhook.pause([webhook.id], clock.at + MINUTE_MS)
    for page in ("", f"webhooks/{webhook.id}"):
        assert "2026-11-20 09:31 UTC" in visit(page)


def test_an_account_that_has_stored_as_much_as_it_may_is_told(
    visit: Visit, account: Account, configure: Configure, clock: Clock
) -> None:
    configure(STORAGE_LIMITS="pro=1")
    assert "Stored today" not in visit("")
    key: dict[str, Any] = {
        "number_id": "num_1",
        "direction": "INBOUND",
        "category": "",
        "billable": False,
    }
    with writing():
        UsageTotal.create(
            account_id=account.id, day=day_of(clock.at), **key, total=1, size=storage.MIB
        )
    assert "Stored today: 1 MiB" in visit("")


def test_the_first_steps_go_when_all_are_done(visit: Visit, account: Account) -> None:
    assert _steps(visit("")) == ["to do"] * 5
    number = factories.active_number(account)
    ApiKey.issue(account, "first")
    assert _steps(visit("")) == ["done", "done", "to do", "to do", "to do"]
    factories.outbound(number)
    webhook = Webhook.register(account.id, "http://127.0.0.1:9/x", ["message.sent"], [])
    page = visit("")
    assert _steps(page) == ["done", "done", "done", "done", "to do"]
    for path in ("links", "keys", "messages", "webhooks/new", "deliveries"):
        assert f'<a href="/dashboard/{path}">' in page
    with writing():
        Webhook.end_trial(webhook.id, webhook.url)
    assert _steps(visit("")) == []


def _steps(page: str) -> list[str]:
    found = re.search(r'<ol class="steps.*?</ol>', page, re.DOTALL)
    return re.findall(r">(done|to do)<", found[0]) if found else []


def test_a_webhook_s_page_has_its_own_charts(visit: Visit, account: Account) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account, "http://127.0.0.1:9/b")
    for succeeds in (True, True, False):
        _deliver(account, webhook, succeeds=succeeds)
    page = visit(f"webhooks/{webhook.id}?range=7d")
    assert "2xx responses <strong>66.6 %</strong>" in page
    assert f'href="/dashboard/webhooks/{webhook.id}?range=7d" aria-current="true"' in page
    assert page.count('role="img"') == 2
    assert visit(f"webhooks/{other.id}").count("Nothing in this time.") == 2

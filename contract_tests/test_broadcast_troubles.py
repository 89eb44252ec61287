"""What stops a broadcast, what its owner sees then, and that everybody has one message after the remedy."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from contract_tests.broadcast_owner import Owner
from contract_tests.chaos.clocks import Clocks
from contract_tests.chromium import Witness
from contract_tests.dashboard.broadcast_steps import NAME
from contract_tests.dashboard.conftest import mailing
from contract_tests.dashboard.looks import faults, leave
from contract_tests.harness import Gateway, running
from tests.mail_server import MailServer

RATE, PEOPLE, OPTED_OUT = 40, 120, 500
HOUR = 3_600
# Recipients whose fate the sandbox fixes, with the code of each.
UNREACHABLE = {
    "15550100001": "131026",
    "15550100002": "131049",
    "15550100008": "131047",
    "15550100017": "131050",
}
PAYMENT = "15550100016"
SETTINGS = {"GATEWAY_PLAN_LIMITS": "anonymous=100000,starter=100000,pro=100000"}


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Clocks:
    return Clocks(tmp_path_factory.mktemp("state") / "clocks")


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, mail: MailServer, clocks: Clocks
) -> Iterator[Gateway]:
    settings = {**SETTINGS, **mailing(mail), **clocks.environment}
    with running(tmp_path_factory.mktemp("gateway"), **settings) as service:
        yield service


@pytest.fixture(scope="module")
def account(gateway: Gateway, mail: MailServer) -> Owner:
    return Owner.of(gateway, mail)


@pytest.fixture
def owner(account: Owner, gateway: Gateway) -> Iterator[Owner]:
    """The owner with a number of this test. The sandbox behaves as usual before and after it."""
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    usual = requests.get(url, timeout=5).json()
    yield account.with_number()
    requests.put(url, json=usual, timeout=5)


@pytest.fixture
def page(browser: Browser, gateway: Gateway) -> Iterator[Page]:
    context = browser.new_context(base_url=gateway.url, timezone_id="UTC")
    page = context.new_page()
    witness = Witness(page)
    yield page
    context.close()
    assert witness.complaints == []


def _behave(owner: Owner, **knobs: object) -> None:
    url = f"{owner.gateway.sandbox}/_sandbox/behaviour"
    requests.put(url, json=knobs, timeout=5).raise_for_status()


def _people(first: int, count: int = PEOPLE) -> list[str]:
    return [str(4_915_100_000_000 + first * 10_000 + place) for place in range(count)]


def _pause_template(owner: Owner) -> None:
    _behave(owner, template_pause_after=PEOPLE // 3)


def _approve_template(owner: Owner) -> None:
    _behave(owner, template_pause_after=0)
    _change_template(owner, status="APPROVED")


def _change_template(owner: Owner, **changes: str) -> None:
    waba = owner.gateway.business_account_of(owner.customer)
    url = f"{owner.gateway.sandbox}/_sandbox/templates?waba_id={waba}"
    found = requests.get(url, timeout=5).json()["data"]
    [template] = [each for each in found if each["name"] == NAME]
    owner.gateway.sandbox_call(f"templates/{template['id']}", **changes)


def _flag_number(owner: Owner) -> None:
    _behave(owner, quality_falls_after=PEOPLE // 6)


def _limit_number(owner: Owner) -> None:
    _behave(owner, quality_falls_after=PEOPLE // 6, quality_limit=True)


def _forgive_number(owner: Owner) -> None:
    _behave(owner, quality_falls_after=0, quality_limit=False)


def _revoke_token(owner: Owner) -> None:
    waba = owner.gateway.business_account_of(owner.customer)
    owner.gateway.sandbox_call(f"wabas/{waba}/tokens", status="REVOKED")


def _connect_again(owner: Owner) -> None:
    phone = owner.customer.number["phoneNumber"]
    owner.gateway.cli("sandbox-connect", owner.customer.account_id, "--phone", phone)


def _owe(owner: Owner) -> None:
    _behave(owner, more_fates=True)


def _pay(owner: Owner) -> None:
    _behave(owner, more_fates=False)


def _say_stop(owner: Owner, person: str) -> None:
    number = owner.customer.number["phoneNumber"]
    text = {"type": "text", "text": {"body": "STOP"}}
    owner.gateway.sandbox_call("inbound", to=number, **text, **{"from": person})


@dataclass(frozen=True)
class Trouble:
    """What happens to a broadcast while it runs, and the link on its page that leads to the remedy."""

    cause: Callable[[Owner], None]
    code: str
    help: str
    remedy: Callable[[Owner], None]


TROUBLES = {
    "template": Trouble(
        _pause_template, "template_not_sendable", "See the template", _approve_template
    ),
    "quality": Trouble(_flag_number, "number_quality", "See the number", _forgive_number),
    "limit": Trouble(_limit_number, "number_limited", "See the number", _forgive_number),
    "token": Trouble(_revoke_token, "number_not_active", "See the number", _connect_again),
    "payment": Trouble(_owe, "account_action", "See the number", _pay),
}


@pytest.mark.parametrize("kind", TROUBLES)
def test_a_trouble_pauses_with_its_reason_and_the_remedy_sends_the_rest(
    owner: Owner, page: Page, kind: str
) -> None:
    trouble, name = TROUBLES[kind], f"Spring offer, {kind}"
    people = _people([*TROUBLES].index(kind))
    people[-1] = PAYMENT if kind == "payment" else people[-1]
    broadcast_id = owner.start(name, people, ratePerSecond=RATE)
    owner.wait_for_messages(people, PEOPLE // 10)
    trouble.cause(owner)
    reason = owner.wait_until(broadcast_id, "paused")["reason"]
    assert reason["code"] == trouble.code
    text = owner.wait_for_mail(f"Broadcast paused: {name}")
    assert reason["message"] in text
    assert f"/dashboard/broadcasts/{broadcast_id}" in text
    owner.require_incident(page, name, "open")
    owner.open(page, broadcast_id)
    expect(page.locator("h1")).to_contain_text("paused")
    expect(page.locator(".warning")).to_contain_text(reason["message"])
    assert faults(page, f"{kind}-paused") == []
    help_page = page.get_by_role("link", name=trouble.help).get_attribute("href")
    leave(page)
    page.goto(help_page or "")
    expect(page.locator("main")).to_contain_text(owner.customer.number["phoneNumber"])
    trouble.remedy(owner)
    owner.open(page, broadcast_id)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).to_contain_text("done")
    leave(page)
    owner.require_one_each(people)
    counts = owner.read(broadcast_id)["counts"]
    assert counts["waiting"] == counts["skipped"] == counts["failed"] == 0
    owner.wait_for_mail(f"Resolved: Broadcast paused: {name}")
    owner.require_incident(page, name, "over")


def test_a_messaging_limit_says_when_the_broadcast_continues(owner: Owner, page: Page) -> None:
    people, number = _people(11, 8), owner.gateway.number_id_of(owner.customer)
    owner.gateway.sandbox_call(f"numbers/{number}/limits", messaging_limit="TIER_5")
    owner.wait_for_limit("TIER_5")
    broadcast_id = owner.start("Limit", people, ratePerSecond=RATE)
    reason = owner.wait_until(broadcast_id, "paused")["reason"]
    assert reason["code"] == "messaging_limit"
    at = datetime.fromisoformat(reason["resumeAt"])
    assert timedelta(hours=23) < at - datetime.now(UTC) < timedelta(hours=25)
    assert f"{at:%Y-%m-%d %H:%M} UTC" in owner.wait_for_mail("Broadcast paused: Limit")
    owner.open(page, broadcast_id)
    expect(page.locator(".warning time")).to_have_attribute("datetime", reason["resumeAt"])
    assert faults(page, "messaging-limit") == []
    owner.gateway.sandbox_call(f"numbers/{number}/limits", messaging_limit="TIER_250")
    owner.wait_for_limit("TIER_250")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).to_contain_text("done")
    leave(page)
    owner.require_one_each(people)
    page.goto("/dashboard/broadcasts")
    assert faults(page, "broadcasts") == []


def test_failures_of_recipients_pause_nothing_and_are_explained(owner: Owner, page: Page) -> None:
    _behave(owner, more_fates=True)
    people = [*UNREACHABLE, *_people(10, 20)]
    broadcast_id = owner.start("Outcomes", people, ratePerSecond=RATE)
    done = owner.wait_until(broadcast_id, "done")
    assert done["reason"] is None
    owner.open(page, broadcast_id)
    for code in UNREACHABLE.values():
        expect(page.locator(f"#error-{code}")).to_be_visible()
    assert faults(page, "outcomes") == []
    leave(page)


def test_nobody_of_500_gets_a_message_a_second_after_the_opt_out(owner: Owner, page: Page) -> None:
    people = _people(20, 700)
    broadcast_id = owner.start("Opt-outs", people, ratePerSecond=RATE)
    owner.wait_for_messages(people, 20)
    # Four of five who wait. The first 20 of them say STOP, the others are in a list.
    waiting = people[len(owner.accepted(people)) :]
    out = [each for place, each in enumerate(waiting) if place % 5][:OPTED_OUT]
    for person in out[:20]:
        _say_stop(owner, person)
    files = {"file": ("out.csv", "person\n" + "\n".join(out[20:]))}
    answer = owner.customer.request("POST", "/suppressions/import", files=files)
    done_at = datetime.now(UTC)
    assert answer.status_code == 200, answer.text
    owner.open(page, broadcast_id)
    expect(page.locator("h1")).to_contain_text("done")
    sent = owner.accepted(people)
    late = {to for to, at in sent if at > done_at + timedelta(seconds=1)}
    assert not late & set(out)
    left = len(people) - len(sent)
    assert left > 0.9 * OPTED_OUT
    skipped = [{"reason": "opted_out", "count": left}]
    assert owner.read(broadcast_id)["skipped"] == skipped
    expect(page.locator("#skips-head + ul")).to_contain_text(f"{left:,}")
    assert faults(page, "opt-outs") == []
    leave(page)
    owner.require_one_each([to for to, _ in sent])


# The gateway distrusts a jump by hours, and follows one by seconds.
@pytest.mark.parametrize("seconds", [3 * HOUR, 50], ids=["hours", "seconds"])
def test_jumps_of_the_clock_change_neither_pace_nor_recipients(
    owner: Owner, clocks: Clocks, seconds: int
) -> None:
    people = _people(30 if seconds < HOUR else 31, 2 * PEOPLE)
    broadcast_id = owner.start(f"Jumps of {seconds} s", people, ratePerSecond=RATE)
    for jump, first, last in ((seconds, 0.15, 0.4), (-seconds, 0.6, 0.85)):
        owner.wait_for_messages(people, round(first * len(people)))
        with clocks.jumped("worker", jump):
            owner.wait_for_messages(people, round(last * len(people)))
    owner.wait_until(broadcast_id, "done")
    owner.require_one_each(people)
    times = [at for _, at in owner.accepted(people)]
    assert max(b - a for a, b in pairwise(times)) < timedelta(seconds=10)
    # The messages of up to half a second are stored ahead. A jump may give their places away again.
    window, most_ahead = 1.5, 0.6
    some = zip(times, times[round(window * RATE) :], strict=False)
    assert min(b - a for a, b in some) > timedelta(seconds=window - most_ahead)

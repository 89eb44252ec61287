"""Creating and changing webhooks through the API."""

import re
from typing import Any

import pytest

from handlers import webhooks
from models.accounts.account import Account
from models.database import writing
from models.deliveries.webhook import Webhook
from models.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnavailableError,
)
from models.numbers.number import Number, NumberAlias
from services import webhooks as service
from tests import factories
from tests.conftest import Configure
from webhooks.faults import RESOLVER, MachineError

READ, SENT = "message.read", "message.sent"
URL = "http://127.0.0.1:9/hook"


@pytest.fixture
def second(account: Account) -> Number:
    """A second number of the account."""
    return factories.active_number(account, "1002", phone_number="15550002222")


def test_duplicate_values_are_removed_and_keep_the_first_position(
    account: Account, number: Number, second: Number
) -> None:
    twice: dict[str, Any] = {
        "events": [SENT, READ, SENT],
        "numberIds": [second.id, second.id, number.id, second.id],
    }
    once = {"events": [SENT, READ], "numberIds": [second.id, number.id]}
    created, _ = webhooks.create_webhook(account.id, {"url": URL, **twice})
    other = webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})[0]
    updated = webhooks.update_webhook(account.id, other["id"], twice)
    for webhook in (created, updated):
        assert webhook.items() >= once.items()
        kept = Webhook.get_by_id(webhook["id"])
        assert (kept.events, kept.number_ids) == (once["events"], once["numberIds"])


def test_an_address_that_may_not_be_is_refused_by_its_place(account: Account) -> None:
    with pytest.raises(InvalidError) as caught:
        webhooks.create_webhook(account.id, {"url": "https://example.com:0/", "events": [READ]})
    assert caught.value.details == {"field": "/url"}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("https://b\u00fccher.example:8443/a?b", "https://xn--bcher-kva.example:8443/a?b"),
        ("https://xn--bcher-kva.example/a", "https://xn--bcher-kva.example/a"),
        ("https://[2606:4700:4700:0::1111]:8443/a", "https://[2606:4700:4700::1111]:8443/a"),
        ("http://[::1]:9/Hook", "http://[::1]:9/Hook"),
        ("https://Hooks.Example/A", "https://Hooks.Example/A"),
        ("HTTPS://Hooks.Example/A", "https://Hooks.Example/A"),
    ],
)
def test_a_url_is_stored_and_shown_with_an_ascii_host(
    account: Account, given: str, stored: str
) -> None:
    created, _ = webhooks.create_webhook(account.id, {"url": given, "events": [READ]})
    other = factories.webhook(account, URL)
    updated = webhooks.update_webhook(account.id, other.id, {"url": given})
    assert [created["url"], updated["url"]] == [stored] * 2
    assert {row.url for row in Webhook.all(account.id)} == {stored}


def test_the_stored_spelling_is_the_one_that_is_checked(
    configure: Configure, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    monkeypatch.setattr("webhooks.address.check_url", lambda url, **_: checked.append(url))
    configure(ALLOW_LOCAL_WEBHOOKS="false")
    made, _ = webhooks.create_webhook(
        account.id, {"url": "https://b\u00fccher.example/", "events": [READ]}
    )
    # A name that IDNA refuses is not even looked up.
    with pytest.raises(InvalidError):
        webhooks.create_webhook(account.id, {"url": "https://\u2603.example/", "events": [READ]})
    assert checked == [made["url"]]


def test_both_spellings_of_a_host_share_its_budget(account: Account) -> None:
    for host in ("B\u00dcCHER.example", "b\u00fccher.example", "XN--BCHER-KVA.example"):
        webhooks.create_webhook(account.id, {"url": f"https://{host}/", "events": [READ]})
    assert {row.host for row in Webhook.all(account.id)} == {"xn--bcher-kva.example"}


@pytest.mark.parametrize("host", ["\u2603.example", "[fd00::1]", "[::ffff:127.0.0.1]", "10.0.0.1"])
def test_a_host_that_cannot_be_public_is_refused_by_its_place(
    configure: Configure, account: Account, host: str
) -> None:
    configure(ALLOW_LOCAL_WEBHOOKS="false")
    webhook = factories.webhook(account, URL)
    for call in (
        lambda body: webhooks.create_webhook(account.id, body | {"events": [READ]}),
        lambda body: webhooks.update_webhook(account.id, webhook.id, body),
    ):
        with pytest.raises(InvalidError) as caught:
            call({"url": f"https://{host}/"})
        assert caught.value.details == {"field": "/url"}
    assert [row.url for row in Webhook.all(account.id)] == [URL]


def test_an_address_that_cannot_be_checked_changes_nothing(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = factories.webhook(account, URL)

    def fail(*_: object, **__: object) -> None:
        raise MachineError(RESOLVER)

    monkeypatch.setattr("webhooks.address.check_url", fail)
    with pytest.raises(UnavailableError):
        webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})
    with pytest.raises(UnavailableError):
        webhooks.update_webhook(account.id, webhook.id, {"url": f"{URL}/2", "events": [READ]})
    assert [(row.url, row.events) for row in Webhook.all(account.id)] == [(URL, webhook.events)]


def test_a_filter_takes_the_accounts_own_numbers_only(account: Account, number: Number) -> None:
    foreign = factories.active_number(Account.open("Rival", "pro"), "9")

    def create(number_ids: list[str]) -> None:
        body = {"url": URL, "events": [READ], "numberIds": number_ids}
        webhooks.create_webhook(account.id, body)

    create([])
    create([number.id])
    with pytest.raises(ForbiddenError, match=foreign.id) as forbidden:
        create([number.id, foreign.id])
    assert forbidden.value.details == {"field": "/numberIds/1"}
    # The existence of a number is checked first.
    with pytest.raises(NotFoundError, match="num_nothing") as unknown:
        create([foreign.id, number.id, "num_nothing"])
    assert unknown.value.details == {"field": "/numberIds/2"}


def test_an_unknown_number_is_404_for_a_new_webhook_and_409_for_one_that_exists(
    account: Account, number: Number
) -> None:
    numbers = {"numberIds": [number.id, "num_nothing"]}
    with pytest.raises(NotFoundError) as refused:
        webhooks.create_webhook(account.id, {"url": URL, "events": [READ], **numbers})
    existing = webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})[0]
    with pytest.raises(ConflictError) as conflict:
        webhooks.update_webhook(account.id, existing["id"], numbers)
    assert refused.value.details == conflict.value.details == {"field": "/numberIds/1"}


def _create(account: Account) -> None:
    webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})


def test_a_plan_bounds_the_webhooks_of_an_account(configure: Configure, account: Account) -> None:
    configure(WEBHOOK_LIMITS="starter=1,pro=2")
    other = Account.open("Other", "starter")
    factories.webhook(account, active=False)
    for row in (account, other):
        _create(row)
        with pytest.raises(ConflictError, match="Delete one"):
            _create(row)
    assert [len(Webhook.all(row.id)) for row in (account, other)] == [2, 1]
    webhooks.delete_webhook(other.id, Webhook.all(other.id)[0].id)
    _create(other)


def test_the_error_names_count_plan_limit_and_setting(
    configure: Configure, account: Account
) -> None:
    """Existing webhooks stay after the limit was lowered."""
    factories.webhook(account)
    factories.webhook(account)
    configure(WEBHOOK_LIMITS="pro=1")
    with pytest.raises(ConflictError) as refused:
        _create(account)
    named = set(re.findall(r"\w+", str(refused.value)))
    assert named >= {"2", "pro", "1", "GATEWAY_WEBHOOK_LIMITS"}
    assert len(Webhook.all(account.id)) == 2


def test_requests_at_the_same_time_do_not_pass_the_limit_together(
    configure: Configure, account: Account
) -> None:
    configure(WEBHOOK_LIMITS="pro=5")

    def create() -> bool:
        try:
            service.create(account.id, URL, [READ], [])
        except ConflictError:
            return False
        return True

    assert sum(factories.at_once(*[create] * 12)) == 5
    assert len(Webhook.all(account.id)) == 5


SETTINGS: dict[str, Any] = {
    "description": "CRM",
    "headers": [
        {"name": "Authorization", "value": "Bearer hidden"},
        {"name": "X-Id", "value": "7"},
    ],
    "maxRate": 50,
    "batch": {"maxEvents": 10, "maxWaitMs": 500},
}
SHOWN = {
    "description": "CRM",
    "headerNames": ["Authorization", "X-Id"],
    "maxRate": 50,
    "batch": {"maxEvents": 10, "maxWaitMs": 500},
}
NONE: dict[str, Any] = {
    "description": "",
    "headerNames": [],
    "maxRate": 0,
    "batch": {"maxEvents": 0, "maxWaitMs": 0},
}


def test_settings_are_stored_shown_without_values_of_headers_and_removed(account: Account) -> None:
    plain, _ = webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})
    created, _ = webhooks.create_webhook(account.id, {"url": URL, "events": [READ], **SETTINGS})
    updated = webhooks.update_webhook(account.id, plain["id"], SETTINGS)
    assert plain.items() >= NONE.items()
    for webhook in (created, updated):
        assert {name: webhook[name] for name in SHOWN} == SHOWN
        assert webhooks.get_webhook(account.id, webhook["id"]).items() >= SHOWN.items()
        assert "hidden" not in str(webhooks.get_webhook(account.id, webhook["id"]))
    # Others stay.
    assert webhooks.update_webhook(account.id, plain["id"], {"maxRate": 0})["headerNames"]
    off = {"description": "", "headers": [], "batch": {"maxEvents": 0, "maxWaitMs": 5}}
    emptied = webhooks.update_webhook(account.id, plain["id"], off)
    assert emptied.items() >= NONE.items()


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (["X-Id", "Content-Type"], 1),
        (["HOST"], 0),
        (["x-service-signature"], 0),
        (["Webhook-Id"], 0),
        (["Proxy-Authorization"], 0),
        (["X_Service_Signature"], 0),
        (["webhook_other"], 0),
        (["Accept"], 0),
    ],
)
def test_a_header_that_the_service_sets_is_refused(
    account: Account, names: list[str], place: int
) -> None:
    webhook = factories.webhook(account, URL)
    headers = [{"name": name, "value": "v"} for name in names]
    with pytest.raises(InvalidError) as caught:
        webhooks.update_webhook(account.id, webhook.id, {"headers": headers, "maxRate": 1})
    assert caught.value.details == {"field": f"/headers/{place}/name"}
    assert caught.value.message.startswith(f"Request body, headers.{place}.name: {names[place]} ")
    assert Webhook.get_by_id(webhook.id).max_rate is None


def test_headers_are_not_sent_to_another_server_unless_they_are_given_again(
    account: Account,
) -> None:
    webhook = factories.webhook(account, URL)
    webhooks.update_webhook(account.id, webhook.id, {"headers": SETTINGS["headers"]})
    kept = webhooks.update_webhook(account.id, webhook.id, {"url": f"{URL}/other"})
    assert kept["headerNames"] == ["Authorization", "X-Id"]
    for other in ("http://127.0.0.1:10/hook", "https://127.0.0.1:9/hook"):
        with pytest.raises(ConflictError) as caught:
            webhooks.update_webhook(account.id, webhook.id, {"url": other, "active": False})
        assert caught.value.details == {"field": "/url"}
    assert Webhook.get_by_id(webhook.id).active
    moved = webhooks.update_webhook(account.id, webhook.id, {"url": other, "headers": []})
    assert (moved["url"], moved["headerNames"]) == (other, [])


def test_of_headers_with_the_same_name_the_last_one_counts(account: Account) -> None:
    names = ("X-Id", "Authorization", "x_id")
    headers = [{"name": name, "value": f"of {name}"} for name in names]
    body = {"url": URL, "events": [READ], "headers": headers}
    created, _ = webhooks.create_webhook(account.id, body)
    expected = {"x_id": "of x_id", "Authorization": "of Authorization"}
    assert Webhook.get_by_id(created["id"]).headers == expected


def test_a_number_that_was_merged_is_stored_by_its_present_identifier(
    account: Account, number: Number
) -> None:
    gone = "num_01M8MDZ34JC2PAE3RTPZPK7G1C"
    with writing():
        NumberAlias.note(number, gone, None)
    numbers = [gone, number.id]
    payload = {"url": URL, "events": ["message.sent"], "numberIds": numbers}
    made, _ = webhooks.create_webhook(account.id, payload)
    assert made["numberIds"] == [number.id]

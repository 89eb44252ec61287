"""The page of a webhook: recent failures, and a test with an edited payload."""

import json
import re
from html import unescape
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Outcome, record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.webhook import Webhook
from models.errors import ConflictError
from services import webhooks as service
from services.webhooks import NOT_CHECKED
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Field, Submit, Visit
from tests.receiver import Receiver, answer
from webhooks import signing
from webhooks.faults import RESOLVER, MachineError
from webhooks.kinds import EventKind

ENVELOPE = {"event": "message.read", "timestamp": "2026-11-20T09:30:00.000Z", "data": {"x": "é"}}


@pytest.fixture
def hook(account: Account, receiver: Receiver) -> Webhook:
    """A webhook whose receiver is there."""
    return factories.webhook(account, receiver.url(), events=["number.banned"])


def _answered(
    account: Account, hook: Webhook, status: int | None, *, retry: int | None = None
) -> None:
    factories.deliveries(account, hook)
    [claimed] = factories.claim_due(1, Terms(10, 1000))
    error = "No response: timed out." if status is None else f"The receiver returned {status}."
    outcome = Outcome(
        claimed.delivery_id,
        claimed.lease_token,
        started_at=1,
        duration_ms=5,
        success=status == 200,
        status_code=status,
        error=None if status == 200 else error,
    )
    record_outcomes([outcome], lambda _: retry, 1000)


def test_recent_failures_are_shown_by_cause(visit: Visit, account: Account, hook: Webhook) -> None:
    for status in (200, 503, 503, None):
        _answered(account, hook, status)
    _answered(account, hook, 503, retry=600)
    newest = Delivery.select().order_by(Delivery.id.desc()).first()
    page = visit(f"webhooks/{hook.id}")
    counts = re.findall(r'data-label="Deliveries">(\d+)<', page)
    assert counts == ["3", "1"]
    assert "The receiver returned 503." in page
    assert "no response</span> Timed out." in page
    assert f"/dashboard/deliveries/{newest.id}" in page
    assert f"/dashboard/deliveries?webhook={hook.id}&amp;answer=5xx" in page
    assert f"/dashboard/deliveries?webhook={hook.id}&amp;answer=none" in page


def test_a_webhook_without_failures_shows_no_cause(
    visit: Visit, account: Account, hook: Webhook
) -> None:
    _answered(account, hook, 200)
    assert "Recent failures" not in visit(f"webhooks/{hook.id}")


def _typed(page: str) -> Any:
    [text] = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    return json.loads(unescape(text))


@pytest.mark.parametrize("kind", EventKind)
def test_the_sample_of_an_event_is_there_to_be_edited_and_sent(
    visit: Visit, submit: Submit, hook: Webhook, receiver: Receiver, kind: str
) -> None:
    form = visit(f"webhooks/{hook.id}/compose?kind={kind}")
    assert re.findall(r'<option value="([^"]+)" selected', form) == [kind]
    sample = _typed(form)
    assert sample["event"] == kind
    page = submit(f"webhooks/{hook.id}/compose", 200, kind=kind, payload=json.dumps(sample)).text
    assert "The receiver returned 200." in page
    [request] = receiver.at()
    assert request.headers["x-service-event"] == kind
    assert request.event == {"id": request.headers["webhook-id"], **sample}


def test_a_payload_gets_a_new_id_each_time_unless_it_has_one(
    submit: Submit, hook: Webhook, receiver: Receiver
) -> None:
    for payload in (ENVELOPE, ENVELOPE, {"id": "evt_known", **ENVELOPE}):
        submit(f"webhooks/{hook.id}/compose", 200, payload=json.dumps(payload))
    ids = [request.event["id"] for request in receiver.at()]
    assert ids == [request.headers["webhook-id"] for request in receiver.at()]
    assert len({*ids}) == 3
    assert ids[2] == "evt_known"


def test_without_a_choice_the_first_event_of_the_webhook_is_there(
    visit: Visit, hook: Webhook
) -> None:
    for query in ("", "?kind=", "?kind=lost"):
        assert _typed(visit(f"webhooks/{hook.id}/compose{query}"))["event"] == "number.banned"


def test_an_edited_payload_is_sent_signed_and_not_recorded(
    submit: Submit, hook: Webhook, receiver: Receiver
) -> None:
    receiver.behave(answer(418, b"<b>tea</b>"))
    typed = json.dumps(ENVELOPE, indent=4)
    page = submit(f"webhooks/{hook.id}/compose", 200, payload=typed).text
    assert "The receiver returned 418." in page
    assert "&lt;b&gt;tea&lt;/b&gt;" in page
    assert _typed(page) == ENVELOPE
    [request] = receiver.at()
    assert request.event == {"id": request.headers["webhook-id"], **ENVELOPE}
    assert request.headers["x-service-event"] == "message.read"
    assert request.headers["x-service-signature"] == signing.sign(hook.secret, request.body)
    assert Delivery.select().count() == 0
    assert Webhook.get_by_id(hook.id).failure_count == 0


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ("", "This is not JSON. Line 1, column 1"),
        ('{\n  "event": nope\n}', "Line 2, column 12"),
        ('{"event": NaN}', "NaN is not JSON"),
        ("[]", "The payload is not an object"),
        (json.dumps(ENVELOPE | {"event": 1}), "event is not a string"),
        (json.dumps(ENVELOPE | {"timestamp": None}), "timestamp is not a string"),
        (json.dumps(ENVELOPE | {"data": []}), "data is not an object"),
        (json.dumps(ENVELOPE | {"more": 1}), "more is not a member of an event"),
        (json.dumps(ENVELOPE | {"id": "evt_1\n"}), "id is not the identifier of an event"),
        (json.dumps(ENVELOPE | {"id": None}), "id is not the identifier of an event"),
        (json.dumps(ENVELOPE | {"event": "<b>"}), "&lt;b&gt; is not an event"),
        ("[" * 60_000, "nested too deeply"),
        (" " * 64_001, "has 64,001 characters"),
    ],
)
def test_a_payload_that_is_not_an_event_is_not_sent(
    submit: Submit, hook: Webhook, receiver: Receiver, payload: str, problem: str
) -> None:
    page = submit(f"webhooks/{hook.id}/compose", 422, payload=payload).text
    assert problem in page
    assert 'aria-describedby="problem"' in page
    assert receiver.at() == []


def test_another_accounts_webhook_is_not_tested(visit: Visit, submit: Submit) -> None:
    theirs = factories.webhook(Account.open("Other", "pro"))
    visit(f"webhooks/{theirs.id}/compose", 404)
    submit(f"webhooks/{theirs.id}/compose", 404, payload=json.dumps(ENVELOPE))


@pytest.mark.parametrize("path", ["webhooks", "webhooks/<id>/edit"])
@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("https://b\u00fccher.example/a", "https://xn--bcher-kva.example/a"),
        ("https://[2606:4700:4700:0::1111]/a", "https://[2606:4700:4700::1111]/a"),
    ],
)
def test_a_typed_url_is_stored_with_an_ascii_host(
    submit: Submit, hook: Webhook, path: str, typed: str, stored: str
) -> None:
    path, is_new = path.replace("<id>", hook.id), path == "webhooks"
    submit(path, 200 if is_new else 303, url=typed, events=["message.read"])
    urls = {row.url for row in Webhook.all(hook.account_id)}
    assert urls == ({hook.url, stored} if is_new else {stored})


@pytest.mark.parametrize(
    "host", ["[fd00::1]", "[::ffff:127.0.0.1]", "[fe80::1%25eth0]", "[1::2::3]"]
)
def test_a_typed_address_that_is_not_public_is_refused(
    submit: Submit, hook: Webhook, host: str
) -> None:
    page = submit("webhooks", 422, url=f"https://{host}/", events=["message.read"]).text
    assert 'id="problem-url"' in page
    assert [row.url for row in Webhook.all(hook.account_id)] == [hook.url]


@pytest.mark.parametrize("path", ["webhooks", "webhooks/<id>/edit"])
def test_an_address_that_cannot_be_checked_keeps_the_form(
    submit: Submit, hook: Webhook, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MachineError(RESOLVER)

    monkeypatch.setattr("webhooks.address.check_url", fail)
    path, url = path.replace("<id>", hook.id), "https://hook.example/"
    page = submit(path, 422, url=url, events=["message.read"]).text
    assert NOT_CHECKED in page
    assert f'value="{url}"' in page
    assert [row.url for row in Webhook.all(hook.account_id)] == [hook.url]


def test_a_refused_form_is_shown_again_as_typed(
    submit: Submit, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed: dict[str, str | list[str]] = {"url": "nowhere", "events": ["message.read"]}
    for path in ("webhooks", f"webhooks/{hook.id}/edit"):
        page = submit(path, 422, **typed).text
        assert 'value="nowhere"' in page
        assert 'id="problem-url"' in page
        assert re.findall('value="([a-z.]+)" checked', page) == ["message.read"]

    def refuse(*_: object, **__: object) -> None:
        raise ConflictError("Too many webhooks.")

    monkeypatch.setattr(service, "create", refuse)
    page = submit("webhooks", 409, url=hook.url, events=["message.read"]).text
    assert "Too many webhooks." in page
    assert f'value="{hook.url}"' in page


def test_a_delivery_of_a_disabled_webhook_is_not_redelivered(
    submit: Submit, account: Account, hook: Webhook
) -> None:
    [row] = factories.deliveries(account, hook)
    service.change(hook, active=False)
    answer = submit(f"deliveries/{row.id}/redeliver", 409)
    assert "enable it first" in answer.text


def test_the_page_shows_what_is_in_flight_and_how_fast_events_go(
    visit: Visit, account: Account, hook: Webhook, clock: Clock
) -> None:
    clock.at -= clock.at % 300_000
    for _ in range(3):
        _answered(account, hook, 200)
    factories.deliveries(account, hook)
    factories.claim_due(1, Terms(10, 1000))
    clock.advance(seconds=3)
    page = " ".join(re.sub("<[^>]+>", " ", visit(f"webhooks/{hook.id}")).split())
    assert "In flight 0 " in page, "its lease is over"
    factories.deliveries(account, hook)
    factories.claim_due(1, Terms(10, 30_000))
    page = " ".join(re.sub("<[^>]+>", " ", visit(f"webhooks/{hook.id}")).split())
    assert "In flight 1 " in page
    assert "0.0 attempts a second, median response time" in page


def test_the_page_shows_until_when_the_receiver_gets_no_new_events(
    visit: Visit, hook: Webhook, clock: Clock
) -> None:
    wait = "New events wait until"
    assert wait not in visit(f"webhooks/{hook.id}")
    with writing():
        Webhook.rest(hook.id, clock.at + 600_000)
    assert f"{wait} 2026-11-20 09:40 UTC" in visit(f"webhooks/{hook.id}")
    clock.advance(minutes=10)
    assert wait not in visit(f"webhooks/{hook.id}")


def _edit(submit: Submit, hook: Webhook, status: int = 303, **changes: str) -> str:
    """Save its form with these values. Returns the page."""
    form: dict[str, Field] = {"url": hook.url, "events": "number.banned", **changes}
    return submit(f"webhooks/{hook.id}/edit", status, **form).text


def test_the_form_keeps_the_masked_values_of_headers_and_changes_the_others(
    submit: Submit, visit: Visit, hook: Webhook
) -> None:
    lines = "Authorization: Bearer kept-from-pages\nX-Id: 7\n"
    _edit(submit, hook, headers=lines, max_rate="50", description="CRM")
    stored = Webhook.get_by_id(hook.id)
    assert (stored.max_rate, stored.description) == (50, "CRM")
    page, form = unescape(visit(f"webhooks/{hook.id}")), unescape(visit(f"webhooks/{hook.id}/edit"))
    assert "Authorization: ****\nX-Id: ****" in form
    assert "50 events a second" in page
    for shown in (page, form):
        assert "kept-from-pages" not in shown
    _edit(submit, hook, headers="authorization: other\r\nx-id: ****\r\n")
    changed = Webhook.get_by_id(hook.id)
    assert changed.headers == {"authorization": "other", "x-id": "7"}
    assert (changed.max_rate, changed.description) == (None, None)


def test_the_form_switches_batches_on_and_off(submit: Submit, visit: Visit, hook: Webhook) -> None:
    _edit(submit, hook, batch_events="20", batch_wait_ms="500")
    stored = Webhook.get_by_id(hook.id)
    assert (stored.batch_events, stored.batch_wait_ms) == (20, 500)
    page = visit(f"webhooks/{hook.id}")
    assert "20 at most" in page
    assert "500 ms" in page
    assert 'name="batch_wait_ms" value="500"' in visit(f"webhooks/{hook.id}/edit")
    _edit(submit, hook, batch_events="", batch_wait_ms="")
    assert Webhook.get_by_id(hook.id).batch_events is None
    assert "Wait for others" not in visit(f"webhooks/{hook.id}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("headers", "Authorization"),
        ("headers", "X Id: 7"),
        ("headers", "X-Id: é"),
        ("headers", "Host: example.com"),
        ("headers", "\n".join(f"X-{i}{i}: 1" for i in range(6))),
        ("headers", "X-New: ****"),
        ("headers", "X-Id: 1\nX-Id: 2"),
        ("max_rate", "0"),
        ("max_rate", "0000000010000"),
        ("max_rate", "1001"),
        ("max_rate", "2.5"),
        ("max_rate", "\u0665"),
        ("batch_events", "0"),
        ("batch_events", "101"),
        ("batch_wait_ms", "60001"),
        ("batch_wait_ms", "-1"),
        ("description", "x" * 201),
    ],
)
def test_a_wrong_setting_is_refused_at_its_field_and_changes_nothing(
    submit: Submit, hook: Webhook, name: str, value: str
) -> None:
    page = _edit(submit, hook, 422, **{name: value})
    assert f'id="problem-{name}"' in page
    assert Webhook.get_by_id(hook.id).__data__ == hook.__data__


def test_the_form_sends_no_stored_header_to_another_server(submit: Submit, hook: Webhook) -> None:
    _edit(submit, hook, headers="Authorization: kept-from-strangers")
    other = "http://127.0.0.1:9/stranger"
    page = _edit(submit, hook, 422, url=other, headers="Authorization: ****")
    assert "Give the value of Authorization again." in page
    assert Webhook.get_by_id(hook.id).url == hook.url
    _edit(submit, hook, url=other, headers="Authorization: new")
    assert Webhook.get_by_id(hook.id).headers == {"Authorization": "new"}

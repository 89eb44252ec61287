"""One delivery: its timeline, its JSON, curl, and two attempts side by side."""

import html
import json
import os
import re
import subprocess

import pytest

from dashboard.delivery import PLACEHOLDER, as_curl
from dashboard.filters import highlighted, span
from models import clock as models_clock
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Outcome, record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.event import identified
from models.deliveries.webhook import Webhook
from models.numbers.number import Number
from services import message_status
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Visit
from tests.receiver import Receiver
from webhooks import signing
from webhooks.kinds import EventKind


@pytest.fixture
def hook(account: Account) -> Webhook:
    """A webhook of the account."""
    return factories.webhook(account)


def _attempt(status: int | None, body: str = "", *, retry: int | None = None, ms: int = 5) -> None:
    """Attempt all due deliveries."""
    error = None if status == 200 else f"The receiver returned {status}."
    outcomes = [
        Outcome(
            each.delivery_id,
            each.lease_token,
            started_at=models_clock.now(),
            duration_ms=ms,
            success=status == 200,
            status_code=status,
            error=error,
            response_body=body,
        )
        for each in factories.claim_due(10, Terms(10, 1000))
    ]
    record_outcomes(outcomes, lambda _: retry, 1000)


def test_the_timeline_goes_from_the_event_to_the_next_attempt(
    visit: Visit, account: Account, hook: Webhook, clock: Clock
) -> None:
    [row] = factories.deliveries(account, hook)
    assert "First attempt" in visit(f"deliveries/{row.id}")
    _attempt(503, "<b>busy</b>", retry=270)
    clock.advance(seconds=30)
    page = visit(f"deliveries/{row.id}")
    assert row.event_id in page
    assert "The receiver returned 503." in page
    assert "&lt;b&gt;busy&lt;/b&gt;" in page
    assert re.search("Next attempt</strong>.* 4 min", page)
    assert "/compare" not in page


def test_a_delivery_that_ended_says_how(visit: Visit, account: Account, hook: Webhook) -> None:
    [first] = factories.deliveries(account, hook)
    _attempt(200)
    [second] = factories.deliveries(account, hook)
    _attempt(None)
    assert "<strong>Delivered</strong>" in visit(f"deliveries/{first.id}")
    page = visit(f"deliveries/{second.id}")
    assert "<strong>Failed</strong>" in page
    assert "no response" in page


def test_a_delivery_names_the_person(visit: Visit, number: Number, hook: Webhook) -> None:
    message = factories.outbound(number)
    with writing():
        message_status.emit_message(EventKind.MESSAGE_SENT, message)
    row = Delivery.get(Delivery.webhook == hook.id)
    assert f'<a href="/dashboard/contacts/{message.contact_id}">' in visit(f"deliveries/{row.id}")


def test_two_attempts_are_compared(
    visit: Visit, account: Account, hook: Webhook, clock: Clock
) -> None:
    [row] = factories.deliveries(account, hook)
    assert "nothing to compare" in visit(f"deliveries/{row.id}/compare")
    for status, body in ((500, "first"), (500, "second"), (200, "third")):
        _attempt(status, body, retry=1)
        clock.advance(seconds=2)
    assert f"/dashboard/deliveries/{row.id}/compare" in visit(f"deliveries/{row.id}")
    last = visit(f"deliveries/{row.id}/compare")
    assert "<pre>second</pre>" in last
    assert "<pre>third</pre>" in last
    assert "<pre>first</pre>" not in last
    chosen = visit(f"deliveries/{row.id}/compare?a=1&b=2")
    assert "<pre>first</pre>" in chosen
    # All but the status and the duration.
    assert last.count("<small>differs</small>") > chosen.count("<small>differs</small>") > 0
    assert "<pre>third</pre>" in visit(f"deliveries/{row.id}/compare?a=x&b=99")


def test_another_accounts_attempts_are_not_compared(visit: Visit) -> None:
    other = Account.open("Other", "pro")
    [row] = factories.deliveries(other, factories.webhook(other))
    visit(f"deliveries/{row.id}/compare", 404)


def test_json_is_highlighted_and_escaped() -> None:
    value = {"a<b": ['say "hi": <script>', 1.5e-3, -2, True, None], "": "\\", "é": {}}
    made = highlighted(json.dumps(value))
    assert "<script>" not in made
    assert '<span class="json-name">&#34;a&lt;b&#34;</span>: [' in made
    assert '<span class="json-number">0.0015</span>' in made
    assert '<span class="json-word">true</span>' in made
    assert made.count("json-name") == 3
    assert _plain(made) == json.dumps(value, indent=2, ensure_ascii=False)


def _plain(made: str) -> str:
    """The text that a browser shows and copies."""
    return html.unescape(re.sub(r"</?span[^>]*>", "", made))


@pytest.mark.parametrize("payload", ['{"text": "it\'s $5 `x` \\\\ \\"é\\" 100%"}', "{}"])
def test_the_curl_script_sends_what_the_service_sends(
    account: Account, receiver: Receiver, payload: str
) -> None:
    hook = factories.webhook(account, receiver.url())
    event = factories.event(account, payload=payload)
    with writing():
        hook.change(headers={"X-Tenant": "kept-from-pages"})
        Delivery.schedule(event, [hook])
    row = Delivery.find(Delivery.get(Delivery.webhook == hook.id).id)
    assert row is not None
    script = as_curl(row)
    assert hook.secret not in script
    assert "kept-from-pages" not in script
    assert "whsec_..." in script
    done = subprocess.run(
        ["bash", "-c", script.replace(PLACEHOLDER, hook.secret)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=20,
        check=True,
    )
    assert b"200" in done.stdout
    [request] = receiver.at()
    at = int(request.headers["webhook-timestamp"])
    assert request.body == identified(event.id, payload).encode()
    assert request.headers["x-tenant"] == "****"
    assert request.headers["x-service-signature"] == signing.sign(hook.secret, request.body)
    expected = signing.sign_standard([hook.secret], event.id, at, request.body)
    assert request.headers["webhook-signature"] == expected


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-5, "0 s"),
        (400, "0 s"),
        (30_000, "30 s"),
        (270_000, "4 min 30 s"),
        (3_600_000, "1 h"),
        (90_061_000, "1 d 1 h"),
    ],
)
def test_a_span_has_its_two_largest_units(milliseconds: int, text: str) -> None:
    assert span(milliseconds) == text
    assert span(milliseconds, 1) == " ".join(text.split()[:2])

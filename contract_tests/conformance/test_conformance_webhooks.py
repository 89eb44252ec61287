"""Webhooks: create, list, change and delete."""

import re
import secrets
from typing import Any

import pytest

from contract_tests.conformance.events import KINDS
from contract_tests.conformance.exchange import DATE, Api
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient, send

FIELDS = {"id", "url", "secret", "events", "numberIds", "active", "createdAt"}
# Optional when a webhook is created, and always in responses.
SETTINGS = {"description", "headerNames", "maxRate", "batch"}
URL = "https://example.com/hook"
MASKED = re.compile(r"whsec_\*{4}[A-Za-z0-9+/]{3}=", re.ASCII)


def test_the_response_is_a_webhook_with_its_one_time_secret(hooks: Hooks) -> None:
    """'Response: a Webhook object including the one-time secret', with all its fields."""
    hook = hooks("message.received", "message.read").resource
    assert set(hook) == FIELDS | SETTINGS
    assert hook["url"].startswith(hooks.receiver.url("/"))
    assert hook["events"] == ["message.received", "message.read"]
    assert hook["active"] is True
    assert DATE.fullmatch(hook["createdAt"])
    assert hook["secret"].startswith("whsec_")
    assert len(hook["secret"]) > 30


def test_number_ids_are_an_empty_array_when_no_filter_was_given(
    hooks: Hooks, number: dict[str, str]
) -> None:
    """numberIds: an empty array when no filter was given."""
    assert hooks("message.read").read()["numberIds"] == []
    assert hooks("message.read", number_ids=[]).read()["numberIds"] == []
    assert hooks("message.read", number_ids=[number["id"]]).read()["numberIds"] == [number["id"]]


def test_the_secret_is_shown_in_full_only_when_the_webhook_is_created(
    api: Api, hooks: Hooks
) -> None:
    """Returned in full only when the webhook is created."""
    hook = hooks("message.read")
    changed = api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"active": True}).json()
    listed = next(w for w in api.get("/webhooks")["data"] if w["id"] == hook.id)
    for shown in (hook.read(), changed, listed):
        assert MASKED.fullmatch(shown["secret"])
        assert shown["secret"][-4:] == hook.secret[-4:]
        assert shown == hook.resource | {"secret": shown["secret"]}


def test_every_webhook_has_a_secret_of_its_own(hooks: Hooks) -> None:
    """Signing secret."""
    assert len({hooks("message.read").secret for _ in range(5)}) == 5


@pytest.mark.parametrize("name", ["url", "events"])
def test_url_and_events_are_required(api: Api, name: str) -> None:
    """url: yes. events: yes. numberIds: no."""
    body: dict[str, Any] = {"url": URL, "events": ["message.read"]}
    del body[name]
    refused = api.call("POST", "/webhooks", 400, json=body)
    assert name in refused.json()["error"]["message"]
    assert api.contract.refuses(refused.request)


def test_each_kind_of_event_can_be_subscribed_to(hooks: Hooks) -> None:
    """'events: Values from the event list', one of them or all."""
    for kind in KINDS:
        assert hooks(kind).resource["events"] == [kind]
    assert hooks(*KINDS).resource["events"] == list(KINDS)


def test_duplicate_values_count_once(hooks: Hooks, number: dict[str, str]) -> None:
    """Kinds and numbers."""
    hook = hooks("message.read", "message.sent", "message.read", number_ids=[number["id"]] * 2)
    assert hook.read()["events"] == ["message.read", "message.sent"]
    assert hook.read()["numberIds"] == [number["id"]]


@pytest.mark.parametrize(
    "change",
    [
        {"events": []},
        {"events": ["message.gone"]},
        {"events": "message.read"},
        {"events": [None]},
        {"events": None},
        {"numberIds": None},
        {"numberIds": "num_1"},
        {"numberIds": [7]},
        {"url": ""},
        {"url": None},
        {"url": 5},
        {"url": "example.com/hook"},
        {"url": "ftp://example.com/hook"},
        {"url": "javascript:alert(1)"},
        {"url": "https://"},
        {"url": "https://user:password@example.com/hook"},
        {"url": "https://example.com/hook#fragment"},
        {"url": "https://example.com:0/hook"},
        {"url": "https://example.com:65536/hook"},
        {"url": "https://example.com/a b"},
        {"url": "https://example.com/\u00fc"},
        {"url": "https://example.com/" + "x" * 2048},
        {"active": False},
    ],
    ids=str,
)
def test_an_invalid_field_is_refused(api: Api, change: dict[str, Any]) -> None:
    """400 VALIDATION_ERROR: Request body [...] fail validation."""
    body = {"url": URL, "events": ["message.read"]} | change
    refused = api.call("POST", "/webhooks", 400, json=body)
    assert api.contract.refuses(refused.request)


@pytest.mark.parametrize(
    "change",
    [{}, {"active": 1}, {"active": None}, {"url": "x"}, {"events": []}, {"secret": "whsec_x"}],
    ids=str,
)
def test_an_invalid_change_is_refused(api: Api, hooks: Hooks, change: dict[str, Any]) -> None:
    """The same for PATCH, and nothing changes."""
    hook = hooks("message.read")
    before = hook.read()
    refused = api.call("PATCH", f"/webhooks/{hook.id}", 400, json=change)
    assert api.contract.refuses(refused.request)
    assert hook.read() == before


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/hook", "https://127.0.0.1/hook", "https://localhost/hook"),
        *("https://no-such-host.invalid/hook", "https://[::1]/hook", "https://\u2603.example/hook"),
        "https://[2a00::5efe:a00:1]/hook",
    ],
)
def test_a_url_is_https_and_public_in_production(production: Api, url: str) -> None:
    """url: HTTPS address that receives event POST requests. The contract allows what the sandbox needs."""
    body = {"url": url, "events": ["message.read"]}
    production.call("POST", "/webhooks", 400, json=body, fits=True)


@pytest.mark.parametrize(
    "host",
    [
        *("0.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1:8443", "169.254.169.254", "100.64.0.1"),
        *("224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "017.0.0.1"),
        *("[fd00::1]", "[fe80::1]", "[fe80::1%25eth0]", "[ff02::1]", "[::]", "[2001:db8::1]:8443"),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]"),
    ],
)
def test_an_address_that_is_not_public_is_refused_by_the_contract(api: Api, host: str) -> None:
    """The same, with the sandbox too."""
    body = {"url": f"https://{host}/hook", "events": ["message.read"]}
    refused = api.call("POST", "/webhooks", 400, json=body)
    assert api.contract.refuses(refused.request)
    assert "public" in refused.json()["error"]["message"]


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700:4700::1111]"])
def test_a_public_https_url_is_accepted_in_production(production: Api, host: str) -> None:
    """The same. The address is public, so that no name has to be resolved."""
    body = {"url": f"https://{host}/hook", "events": ["number.banned"]}
    made = production.post("/webhooks", 201, json=body)
    production.call(
        "PATCH", f"/webhooks/{made['id']}", 400, json={"url": "https://127.0.0.1/"}, fits=True
    )
    production.call("DELETE", f"/webhooks/{made['id']}", 204)


def test_an_internationalized_host_is_shown_in_its_ascii_form(api: Api, hooks: Hooks) -> None:
    """An internationalized host name is stored in its ASCII form."""
    hook, ascii_form = hooks("number.banned"), "https://xn--bcher-kva.example/hook"
    for url in ("https://b\u00fccher.example/hook", ascii_form):
        changed = api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"url": url}).json()
        assert (changed["url"], hook.read()["url"]) == (ascii_form, ascii_form)


def test_a_stored_local_url_gets_no_requests_in_production(
    api: Api, hooks: Hooks, production: Api
) -> None:
    """The same. Each attempt checks the address again."""
    hook = hooks("message.read")
    local = hook.resource["url"]
    for url in (local, local.replace("http:", "https:"), "https://localhost/hook"):
        api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"url": url})
        result = production.post(f"/webhooks/{hook.id}/test")
        assert (result["success"], result["statusCode"]) == (False, 0)
        assert "public" in result["message"]
    assert hook.requests == []


def test_a_change_leaves_the_other_properties_alone(
    api: Api, hooks: Hooks, number: dict[str, str]
) -> None:
    """PATCH /webhooks/{id}."""
    hook = hooks("message.read")
    expected = hook.read()
    for change in (
        {"url": hooks.receiver.url(f"/{secrets.token_hex(4)}")},
        {"events": ["message.sent", "message.failed"]},
        {"numberIds": [number["id"]]},
        {"active": False},
        {"active": True, "numberIds": []},
    ):
        expected |= change
        changed = api.call("PATCH", f"/webhooks/{hook.id}", 200, json=change).json()
        assert changed == expected
        assert hook.read() == expected


def test_a_changed_webhook_gets_events_by_its_new_settings(
    api: Api, hooks: Hooks, number: dict[str, str]
) -> None:
    """The same: the new address and the new kinds apply at once."""
    hook, other = hooks("message.read"), hooks("number.banned")
    url = hooks.receiver.url(other.path)
    api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"url": url, "events": ["message.sent"]})
    sent = send(api, number["id"], new_recipient()).json()
    [received] = hooks.receiver.wait(other.path)
    assert hooks.callbacks.check(received, hook.secret)["data"]["id"] == sent["id"]
    assert received.event["event"] == "message.sent"
    assert hook.requests == []


def test_webhooks_are_listed_newest_first(api: Api, hooks: Hooks) -> None:
    """GET /webhooks."""
    made = [hooks("message.read").id for _ in range(3)]
    assert [w["id"] for w in api.get("/webhooks", params={"limit": "3"})["data"]] == made[::-1]


def test_a_webhook_is_deleted_with_its_deliveries(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """DELETE answers 204, and the webhook gets no further requests."""
    hook, control = hooks("message.received"), hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait()
    delivery_id = hook.deliveries()[0]["id"]
    api.call("DELETE", f"/webhooks/{hook.id}", 204)
    hooks.made.remove(hook)
    for method, path in (
        ("GET", f"/webhooks/{hook.id}"),
        ("DELETE", f"/webhooks/{hook.id}"),
        ("POST", f"/webhooks/{hook.id}/test"),
        ("GET", f"/webhooks/{hook.id}/deliveries"),
        ("GET", f"/deliveries/{delivery_id}"),
    ):
        api.call(method, path, 404)
    sandbox.write(number["phoneNumber"], new_recipient())
    control.wait(2)
    assert len(hook.requests) == 1

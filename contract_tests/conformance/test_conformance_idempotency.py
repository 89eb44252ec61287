"""Idempotency: a repeated request never sends twice, and never creates a second webhook or template.

Concurrent requests and an unreachable or silent network: contract_tests/relayed/test_idempotency.py.
"""

import secrets

import pytest
import requests

from contract_tests.conformance.exchange import Api, Contract
from contract_tests.conformance.timelapse import DAY, Timelapse
from contract_tests.conformance.wire import Wire, head
from contract_tests.conformance.world import Sandbox, new_recipient, send, text_to, wait_status
from contract_tests.harness import Customer, Gateway

REPLAYED = "Idempotency-Replayed"
REFUSED, THROTTLED, SERVER_ERROR = "15550100001", "15550100003", "15550100004"


def new_key() -> str:
    """A new key."""
    return secrets.token_urlsafe(24)


def check_replay(original: requests.Response, again: requests.Response) -> None:
    """The original response, marked as a replay."""
    assert REPLAYED not in original.headers
    assert again.headers[REPLAYED] == "true"
    assert again.status_code == original.status_code
    assert again.content == original.content
    assert again.headers.get("Retry-After") == original.headers.get("Retry-After")


def test_a_repeated_request_returns_the_original_response_and_sends_nothing(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """Returns the original response without being processed again."""
    to, key = new_recipient(), new_key()
    first = send(api, number["id"], to, key=key)
    check_replay(first, send(api, number["id"], to, key=key))
    # The message may change meanwhile. The replay is still the original response, byte for byte.
    wait_status(api, first.json()["id"], "read")
    check_replay(first, send(api, number["id"], to, key=key))
    assert len(sandbox.accepted(to)) == 1


def test_without_a_key_every_request_sends(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """Optional Idempotency-Key."""
    to = new_recipient()
    assert REPLAYED not in send(api, number["id"], to).headers
    assert REPLAYED not in send(api, number["id"], to).headers
    assert len(sandbox.accepted(to)) == 2


def test_another_key_sends_again(api: Api, sandbox: Sandbox, number: dict[str, str]) -> None:
    """A repeated request carrying the same Idempotency-Key."""
    to = new_recipient()
    first = send(api, number["id"], to, key=new_key())
    second = send(api, number["id"], to, key=new_key())
    assert first.json()["id"] != second.json()["id"]
    assert len(sandbox.accepted(to)) == 2


def test_the_same_key_with_another_body_is_a_conflict(
    api: Api, sandbox: Sandbox, number: dict[str, str]
) -> None:
    """'409 CONFLICT': the key belongs to another request, whose response is kept."""
    to, other, key = new_recipient(), new_recipient(), new_key()
    first = send(api, number["id"], to, key=key)
    send(api, number["id"], to, 409, text="Something else", key=key)
    send(api, number["id"], other, 409, key=key)
    named = text_to(number["id"], to) | {"reference": "order-4711"}
    api.call("POST", "/messages/send", 409, json=named, headers={"Idempotency-Key": key})
    assert sandbox.accepted(other) == []
    check_replay(first, send(api, number["id"], to, key=key))


def test_the_order_of_properties_does_not_matter(api: Api, number: dict[str, str]) -> None:
    """'A repeated request': the order of JSON properties has no meaning."""
    to, key = new_recipient(), new_key()
    first = send(api, number["id"], to, key=key)
    body = dict(reversed(text_to(number["id"], to).items()))
    again = api.call("POST", "/messages/send", 200, json=body, headers={"Idempotency-Key": key})
    check_replay(first, again)


@pytest.mark.parametrize("key", ["!", "~" * 255, "order-4711", '"quoted"', "a,b;c=d", "0"])
def test_a_key_is_1_to_255_visible_characters(api: Api, number: dict[str, str], key: str) -> None:
    """Idempotency-Key: <unique string>."""
    to, unique = new_recipient(), f"{key}{secrets.token_hex(8)}"[-255:] if len(key) > 1 else key
    first = send(api, number["id"], to, key=unique)
    check_replay(first, send(api, number["id"], to, key=unique))


@pytest.mark.parametrize(
    "key", ["", "x" * 256, "two words", "tab\there", "caf\u00e9", "del\x7f", "  "], ids=repr
)
def test_a_key_in_another_form_is_refused(
    api: Api, gateway: Gateway, sandbox: Sandbox, number: dict[str, str], key: str
) -> None:
    """The same; nothing is sent."""
    to = new_recipient()
    body = requests.Request("POST", api.base, json=text_to(number["id"], to)).prepare().body
    assert isinstance(body, bytes)
    request = head(
        "POST",
        "/api/messages/send",
        api.key,
        Content_Type="application/json",
        Content_Length=len(body),
        Idempotency_Key=key,
    )
    Wire.to(gateway).refused(request + body, 400)
    assert sandbox.accepted(to) == []


def test_a_key_belongs_to_its_account(api: Api, other_api: Api, number: dict[str, str]) -> None:
    """Scope of the key: another account's request with it is another request."""
    to, key = new_recipient(), new_key()
    first = send(api, number["id"], to, key=key).json()
    theirs = next(n for n in other_api.get("/numbers")["data"] if n["status"] == "ACTIVE")
    second = send(other_api, theirs["id"], to, key=key)
    assert REPLAYED not in second.headers
    assert second.json()["id"] != first["id"]


def test_all_keys_of_an_account_share_its_idempotency_keys(
    api: Api, number: dict[str, str], second_key: str, contract: Contract
) -> None:
    """The same: a client with a new API key repeats its request."""
    to, key = new_recipient(), new_key()
    first = send(api, number["id"], to, key=key)
    check_replay(first, send(Api(api.base, second_key, contract), number["id"], to, key=key))


@pytest.fixture
def second_key(gateway: Gateway, customer: Customer) -> str:
    """Another API key of the customer's account."""
    return str(gateway.cli("keys", "create", customer.account_id)["key"])


@pytest.mark.parametrize(("to", "status"), [(REFUSED, 400), (SERVER_ERROR, 500)])
def test_every_outcome_that_a_repetition_cannot_change_is_replayed(
    api: Api, sandbox: Sandbox, number: dict[str, str], to: str, status: int
) -> None:
    """'The original response': refusals and unclear results too."""
    key, before = new_key(), len(sandbox.accepted(to))
    first = send(api, number["id"], to, status, key=key)
    check_replay(first, send(api, number["id"], to, status, key=key))
    assert len(sandbox.accepted(to)) == before + (to == SERVER_ERROR)


def test_a_throttled_request_leaves_its_key_unused(api: Api, number: dict[str, str]) -> None:
    """Nothing was sent, so a repetition is a new try."""
    key = new_key()
    tries = [send(api, number["id"], THROTTLED, 429, key=key) for _ in range(2)]
    assert [REPLAYED in each.headers for each in tries] == [False, False]
    assert len({each.json()["error"]["details"]["messageId"] for each in tries}) == 2


def test_a_request_that_failed_validation_leaves_its_key_unused(
    api: Api, number: dict[str, str]
) -> None:
    """Nothing was processed, so there is no response to replay."""
    to, key = new_recipient(), new_key()
    headers = {"Idempotency-Key": key}
    wrong = text_to(number["id"], to) | {"type": "fax"}
    for _ in range(2):
        refused = api.call("POST", "/messages/send", 400, json=wrong, headers=headers)
        assert REPLAYED not in refused.headers
    missing = text_to("num_nothing", to)
    api.call("POST", "/messages/send", 404, json=missing, headers=headers)
    assert REPLAYED not in send(api, number["id"], to, key=key).headers


def test_a_key_expires_after_24_hours(
    api: Api, sandbox: Sandbox, timelapse: Timelapse, number: dict[str, str]
) -> None:
    """'Within 24 hours'; 'Idempotency window: 24 hours'."""
    to, key = new_recipient(), new_key()
    first = send(api, number["id"], to, key=key)
    timelapse.age_idempotency_key(key, DAY - 60)
    check_replay(first, send(api, number["id"], to, key=key))
    timelapse.age_idempotency_key(key, 61)
    second = send(api, number["id"], to, key=key)
    assert REPLAYED not in second.headers
    assert second.json()["id"] != first.json()["id"]
    check_replay(second, send(api, number["id"], to, key=key))
    assert len(sandbox.accepted(to)) == 2


def test_a_webhook_is_created_once(api: Api) -> None:
    """'With an Idempotency-Key, a repeated request returns the stored response, with its secret'."""
    headers = {"Idempotency-Key": new_key()}
    body = {"url": "https://example.com/hook", "events": ["number.banned"]}

    def create(status: int = 201, **changes: object) -> requests.Response:
        return api.call("POST", "/webhooks", status, json=body | changes, headers=headers)

    first, before = create(), len(api.get("/webhooks?limit=100")["data"])
    check_replay(first, create())
    create(409, events=["message.sent"])
    assert len(api.get("/webhooks?limit=100")["data"]) == before
    api.call("DELETE", f"/webhooks/{first.json()['id']}", 204)
    create(409)


def test_a_template_is_created_once(api: Api, sandbox: Sandbox, number: dict[str, str]) -> None:
    """'With an Idempotency-Key, a repeated request returns the stored response, and submits nothing'."""
    headers, path = {"Idempotency-Key": new_key()}, f"/numbers/{number['id']}/templates"
    text = {"type": "BODY", "text": "It has shipped."}
    body = {
        "name": f"order_{secrets.token_hex(6)}",
        "language": "en_US",
        "category": "UTILITY",
        "components": [text],
    }
    with sandbox.behaving(template_review="none"):
        first = api.call("POST", path, 201, json=body, headers=headers)
    check_replay(first, api.call("POST", path, 201, json=body, headers=headers))
    api.call("POST", path, 409, json=body | {"language": "de"}, headers=headers)
    listed = api.get(f"{path}?name={body['name']}")["data"]
    assert [each["id"] for each in listed] == [first.json()["id"]]
    # Without the key it is another request.
    exists = api.call("POST", path, 409, json=body)
    assert exists.json()["error"]["details"]["field"] == "/name"


def test_other_changes_refuse_the_key_and_change_nothing(api: Api) -> None:
    headers = {"Idempotency-Key": new_key()}
    body = {"url": "https://example.com/hook", "events": ["number.banned"]}
    made = api.post("/webhooks", 201, json=body)
    path = f"/webhooks/{made['id']}"
    for method, where in (("POST", f"{path}/rotate-secret"), ("DELETE", path)):
        refused = api.call(method, where, 400, headers=headers)
        assert refused.json()["error"]["code"] == "VALIDATION_ERROR"
    shown = api.call("GET", path, 200, headers=headers).json()
    made |= {"secret": shown["secret"]}
    assert shown == made
    api.call("DELETE", path, 204)

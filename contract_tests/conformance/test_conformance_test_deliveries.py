"""POST /webhooks/{webhook_id}/test: the result for every response of the receiver."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.conformance.events import KINDS, Callbacks, check_message
from contract_tests.conformance.exchange import Api, Contract
from contract_tests.conformance.world import Hook, Hooks, always
from contract_tests.harness import Gateway, Received, Receiver, Reply, free_port

DEACTIVATING = 10
pytestmark = pytest.mark.usefixtures("proven")


@pytest.fixture(scope="module")
def quiet(gateway: Gateway, contract: Contract) -> Api:
    """An account without a number: its webhooks receive only test deliveries.

    The customer's webhooks also receive events of other tests' messages, at any time.
    """
    customer = gateway.customer(with_number=False)
    return Api(customer.api, customer.key, contract)


@pytest.fixture
def hooks(quiet: Api, receiver: Receiver, callbacks: Callbacks) -> Iterator[Hooks]:
    """Creates webhooks of the quiet account that exist as long as the test."""
    made = Hooks(quiet, receiver, callbacks)
    yield made
    made.clear()


def run(hook: Hook) -> dict[str, Any]:
    """Request a test delivery, and check the four fields of the result."""
    result: dict[str, Any] = hook.api.post(f"/webhooks/{hook.id}/test")
    assert set(result) == {"success", "statusCode", "responseTimeMs", "message"}
    assert type(result["success"]) is bool
    assert type(result["statusCode"]) is int
    assert type(result["responseTimeMs"]) is int
    assert result["message"]
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_the_first_subscribed_kind_is_sent(hooks: Hooks, kind: str) -> None:
    """'Sends a test delivery to the webhook's URL': signed, and a valid event of its kind."""
    hook = hooks(kind, next(other for other in KINDS if other != kind))
    assert run(hook)["success"] is True
    [event] = hook.wait()
    assert event["event"] == kind
    if kind.startswith("message."):
        check_message(event["data"])


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_a_2xx_answer_is_a_success(hooks: Hooks, status: int) -> None:
    """success: boolean. statusCode: status returned by the receiving server."""
    result = run(hooks("message.sent", reply=always(status)))
    assert (result["success"], result["statusCode"]) == (True, status)


@pytest.mark.parametrize("status", [301, 302, 304, 307, 400, 401, 404, 410, 429, 500, 503])
def test_any_other_response_is_no_success(hooks: Hooks, status: int) -> None:
    """The same. The operation's own status is 200 for any result."""
    elsewhere = hooks("number.banned")
    moved = {"Location": hooks.receiver.url(elsewhere.path)}
    result = run(hooks("message.sent", reply=always(status, moved)))
    assert (result["success"], result["statusCode"]) == (False, status)
    assert elsewhere.requests == []


def test_the_response_time_is_in_milliseconds(hooks: Hooks) -> None:
    """responseTimeMs: integer (milliseconds)."""

    def slow(_: Received) -> Reply:
        time.sleep(0.3)
        return Reply(200)

    assert 300 <= run(hooks("message.sent", reply=slow))["responseTimeMs"] < 5000


def test_no_response_gives_the_status_0(hooks: Hooks) -> None:
    """Nothing listens at the address: statusCode is 0, and the message says why."""
    hook = hooks("message.sent")
    nobody = f"http://127.0.0.1:{free_port()}/hook"
    hook.api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"url": nobody})
    result = run(hook)
    assert (result["success"], result["statusCode"]) == (False, 0)
    assert "connect" in result["message"]


def test_a_test_delivery_works_on_an_inactive_webhook(hooks: Hooks) -> None:
    """So that a customer can fix the receiver before the webhook is enabled again."""
    hook = hooks("message.sent")
    hook.api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"active": False})
    assert run(hook)["success"] is True
    hook.wait()
    assert hook.read()["active"] is False


def test_a_test_delivery_is_neither_retried_nor_counted_nor_listed(hooks: Hooks) -> None:
    """A test is no event: failed tests never deactivate a webhook."""
    hook = hooks("message.sent", reply=always(500))
    for _ in range(DEACTIVATING):
        assert run(hook)["success"] is False
    assert len(hook.requests) == DEACTIVATING
    assert hook.read()["active"] is True
    assert hook.deliveries() == []

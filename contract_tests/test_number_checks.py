"""The slow poll finds changes that the platform sends no callback for."""

from collections.abc import Iterator

import pytest
import requests

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver, running

APP = {"client_id": "100000000000001", "client_secret": "sandbox-app-secret"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service that checks its numbers twice a second."""
    folder = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_NUMBER_CHECK_INTERVAL="0.5") as service:
        yield service


def _unsubscribe(gateway: Gateway, phone_number: str) -> str:
    """Stop the platform's callbacks for a number's account. Returns the number's id at the platform."""
    signup = gateway.sandbox_call("signup", phone=phone_number)
    base = f"{gateway.sandbox}/v25.0"
    answer = requests.get(
        f"{base}/oauth/access_token", params=APP | {"code": signup["code"]}, timeout=WAIT_SECONDS
    )
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    url = f"{base}/{signup['waba_id']}/subscribed_apps"
    assert requests.delete(url, headers=headers, timeout=WAIT_SECONDS).ok
    return str(signup["phone_number_id"])


def test_a_change_without_a_callback_is_found_and_has_one_event(
    gateway: Gateway, customer: Customer, receiver: Receiver
) -> None:
    kinds = ["number.activated", "number.banned", "number.disconnected"]
    hook = {"url": receiver.url(), "events": kinds}
    assert customer.request("POST", "/webhooks", json=hook).status_code == 201
    number_id = _unsubscribe(gateway, customer.number["phoneNumber"])

    gateway.sandbox_call(f"numbers/{number_id}/status", status="BANNED")
    receiver.wait_kind("number.banned")
    assert customer.send("15561234567").status_code == 409
    gateway.sandbox_call(f"numbers/{number_id}/status", status="CONNECTED")
    receiver.wait_kind("number.activated")
    assert customer.send("15561234567").status_code == 200
    gateway.sandbox_call(f"numbers/{number_id}/status", status="DISCONNECTED")
    receiver.wait_kind("number.disconnected")
    assert customer.send("15561234567").status_code == 409
    told = [request.event["event"] for request in receiver.at()]
    assert told == ["number.banned", "number.activated", "number.disconnected"]

"""Callbacks that the platform stopped sending: a check finds it, and the printed command restores them."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from contract_tests.commands import command_server
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver, running, wait_for
from contract_tests.test_doctor import examine

APP_ID = "100000000000001"
APP = {"Authorization": f"Bearer {APP_ID}|sandbox-app-secret"}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service that checks its numbers twice a second."""
    folder = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_NUMBER_CHECK_INTERVAL="0.5") as service:
        yield service


@pytest.fixture
def waba(gateway: Gateway, customer: Customer) -> str:
    """The business account of the customer's number."""
    return gateway.business_account_of(customer)


def _drop_field(gateway: Gateway) -> None:
    url = f"{gateway.sandbox}/{APP_ID}/subscriptions"
    listed = requests.get(url, headers=APP, timeout=WAIT_SECONDS).json()["data"][0]
    fields = {field["name"] for field in listed["fields"]} - {"messages"}
    body: dict[str, Any] = {"object": "whatsapp_business_account", "fields": ",".join(fields)}
    body |= {"callback_url": listed["callback_url"], "verify_token": "sandbox-verify-token"}
    assert requests.post(url, headers=APP, json=body, timeout=WAIT_SECONDS).ok


def _problems(customer: Customer) -> list[str]:
    number = customer.request("GET", f"/numbers/{customer.number['id']}").json()
    return [problem["code"] for problem in number["problems"]]


def _counted(gateway: Gateway, code: str) -> float:
    text = requests.get(gateway.api.replace("/api", "/metrics"), timeout=WAIT_SECONDS).text
    found = re.search(rf'gateway_number_problems{{code="{code}"}} (\S+)', text)
    assert found, text
    return float(found[1])


@pytest.mark.parametrize("code", ["not_subscribed", "callbacks_elsewhere", "fields_missing"])
def test_lost_callbacks_are_found_shown_and_restored_by_the_printed_command(
    gateway: Gateway, customer: Customer, receiver: Receiver, waba: str, code: str
) -> None:
    kinds = ["message.received", "number.updated"]
    hook = {"url": receiver.url(), "events": kinds, "numberIds": [customer.number["id"]]}
    assert customer.request("POST", "/webhooks", json=hook).status_code == 201
    path = f"wabas/{waba}/subscription"
    match code:
        case "not_subscribed":
            gateway.sandbox_call(path, subscribed=False)
        case "callbacks_elsewhere":
            gateway.sandbox_call(path, override_url="http://127.0.0.1:9/elsewhere")
        case _:
            _drop_field(gateway)
    wait_for(lambda: _problems(customer) == [code], code)
    told = receiver.wait_kind("number.updated")[0].event["data"]
    assert [problem["code"] for problem in told["problems"]] == [code]
    assert _counted(gateway, code) == 1

    found = examine(gateway, status=0)["numbers"]
    assert found["state"] == "warning"
    command = shlex.split(found["fix"].removeprefix("Run: gateway "))
    ended, _, said = command_server().invoke(tuple(command), gateway.told, gateway.folder)
    assert (ended, said) == (0, "")
    assert (_problems(customer), _counted(gateway, code)) == ([], 0)

    person = {"from": "15551234567", "type": "text", "text": {"body": "Hi"}}
    gateway.sandbox_call("inbound", to=customer.number["phoneNumber"], **person)
    receiver.wait_kind("message.received")

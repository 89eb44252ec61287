"""API keys that are limited to a number: what they see of the account's other numbers."""

from dataclasses import replace

import pytest

from contract_tests.conformance.test_conformance_idempotency import new_key
from contract_tests.event_reader import events, opened
from contract_tests.harness import Customer, Gateway


@pytest.fixture(scope="module")
def second(gateway: Gateway, customer: Customer) -> Customer:
    """The same account with its second number."""
    return replace(customer, number=gateway.cli("sandbox-connect", customer.account_id))


@pytest.fixture(scope="module")
def limited(gateway: Gateway, customer: Customer) -> Customer:
    """The account with a key for its first number."""
    limits = ("--number", str(customer.number["id"]))
    made = gateway.cli("keys", "create", customer.account_id, *limits)
    return replace(customer, key=made["key"])


def test_a_key_of_a_number_sees_no_message_of_another(
    customer: Customer, second: Customer, limited: Customer
) -> None:
    own, other = customer.send("15551234567").json(), second.send("15551234567").json()
    assert limited.request("GET", f"/messages/{own['id']}").status_code == 200
    assert limited.request("GET", f"/messages/{other['id']}").status_code == 403
    listed = limited.request("GET", "/messages?limit=100").json()["data"]
    assert {each["numberId"] for each in listed} == {customer.number["id"]}


def test_a_key_of_a_number_streams_no_event_of_another(
    customer: Customer, second: Customer, limited: Customer
) -> None:
    with opened(limited) as stream:
        second.send("15551234567")
        own = customer.send("15551234567").json()
        for event in events(stream):
            assert event["data"]["numberId"] == customer.number["id"]
            if event["data"]["id"] == own["id"]:
                break


def test_a_key_of_a_number_replays_no_send_of_another(second: Customer, limited: Customer) -> None:
    key = new_key()
    sent = second.send("15551234567", key=key)
    assert second.send("15551234567", key=key).json() == sent.json()
    refused = replace(second, key=limited.key).send("15551234567", key=key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")

"""After a crash, a killed process never sends twice, and its error reveals nothing."""

import re
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import requests

from contract_tests.halting import halted
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for
from contract_tests.relay import Relay, accepted, behaving

ABSENT = re.compile("no such table|relation .* does not exist")
LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def _kill_web(gateway: Gateway, waiting: "Future[requests.Response]") -> None:
    """Kill the web process during a request, and wait for the next one."""
    gateway.kill("web")
    with pytest.raises(requests.ConnectionError):
        waiting.result()
    gateway.wait_for_web()


def _check_unsettled(answer: requests.Response) -> str:
    """409 with Retry-After: the outcome of the message is not known yet. Returns the error."""
    assert answer.status_code == 409, answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    return str(answer.json()["error"]["message"])


def _message_to(customer: Customer, recipient: str) -> dict[str, object]:
    page = customer.request("GET", "/messages").json()["data"]
    (found,) = (m for m in page if m["toNumber"] == recipient)
    message: dict[str, object] = customer.request("GET", f"/messages/{found['id']}").json()
    return message


def test_a_message_accepted_before_a_kill_is_sent_once_and_settled_by_its_status(
    gateway: Gateway, customer: Customer
) -> None:
    recipient = "15551240001"
    with behaving(gateway, latency_ms=60_000, status_delay_ms=1_500), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(customer.send, recipient, key="killed")
        (taken,) = wait_for(lambda: accepted(gateway, recipient), "an accepted message")
        with halted(gateway.part("sandbox")):
            _kill_web(gateway, waiting)
            conflicts = [_check_unsettled(customer.send(recipient, key="killed")) for _ in range(3)]
            message = _message_to(customer, recipient)
        assert message["status"] == "pending"
        assert all(str(message["id"]) in conflict for conflict in conflicts)

        def settled() -> requests.Response | None:
            answer = customer.send(recipient, key="killed")
            if answer.status_code != 200:
                _check_unsettled(answer)
            return answer if answer.status_code == 200 else None

        answer = wait_for(settled, "a settled send")
        assert answer.headers["Idempotency-Replayed"] == "true"
        assert answer.json()["id"] == message["id"]
        assert answer.json()["wa_message_id"] == taken["id"]
        wait_for(
            lambda: _message_to(customer, recipient)["status"] == "read", "the message's statuses"
        )
    assert customer.send(recipient, key="killed").text == answer.text
    assert accepted(gateway, recipient) == [taken]


def test_a_kill_before_the_networks_request_never_sends_with_the_same_key(
    gateway: Gateway, relay: Relay, customer: Customer
) -> None:
    recipient = "15551240002"
    relay.swallow()
    try:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(customer.send, recipient, key="unasked")
            assert relay.swallowed.wait(WAIT_SECONDS)
            _kill_web(gateway, waiting)
    finally:
        relay.restore()
    for _ in range(3):
        _check_unsettled(customer.send(recipient, key="unasked"))
    assert _message_to(customer, recipient)["status"] == "pending"
    assert accepted(gateway, recipient) == []
    assert customer.send(recipient, key="another").status_code == 200
    assert len(accepted(gateway, recipient)) == 1


def test_a_kill_during_the_creation_of_a_template_never_submits_it_again(
    gateway: Gateway, relay: Relay, customer: Customer
) -> None:
    path, headers = f"/numbers/{customer.number['id']}/templates", {"Idempotency-Key": "killed"}
    body = {
        "name": "order_killed",
        "language": "en_US",
        "category": "UTILITY",
        "components": [{"type": "BODY", "text": "It has shipped."}],
    }

    def create() -> requests.Response:
        return customer.request("POST", path, json=body, headers=headers)

    customer.request("GET", path)
    relay.swallow()
    try:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(create)
            assert relay.swallowed.wait(WAIT_SECONDS)
            _kill_web(gateway, waiting)
    finally:
        relay.restore()
    for _ in range(3):
        _check_unsettled(create())
    assert customer.request("GET", f"{path}?name=order_killed").json()["data"] == []


def test_a_kill_during_the_creation_of_a_webhook_leaves_one_webhook_at_most(
    gateway: Gateway, customer: Customer
) -> None:
    headers = {"Idempotency-Key": "killed"}
    body = {"url": "https://example.com/hook", "events": ["number.banned"]}

    def create() -> requests.Response:
        return customer.request("POST", "/webhooks", json=body, headers=headers)

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(create) for _ in range(4)]
        gateway.kill("web")
        for each in waiting:
            each.exception()
    gateway.wait_for_web()
    answer = create()
    assert answer.status_code == 201, answer.text
    listed = customer.request("GET", "/webhooks").json()["data"]
    assert [each["id"] for each in listed] == [answer.json()["id"]]


@pytest.mark.parametrize("table", ["number", "api_key"])
def test_a_crash_gives_a_generic_error_and_the_service_recovers(
    gateway: Gateway, customer: Customer, table: str
) -> None:
    with gateway.stored.without(table):
        crashed = customer.request("GET", "/numbers")
    assert crashed.status_code == 500
    assert crashed.headers["Content-Type"] == "application/json"
    error = crashed.json()["error"]
    assert (error["code"], error["status"]) == ("INTERNAL_ERROR", 500)
    assert table not in error["message"]
    assert "Error" not in error["message"]
    assert all(crashed.headers[name].isdecimal() for name in LIMIT_HEADERS)
    assert customer.request("GET", "/numbers").status_code == 200
    wait_for(lambda: ABSENT.search(gateway.log()), "the error in the log")

"""What the log of a whole run contains, and what it never contains."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests import canaries
from contract_tests.harness import Customer, Gateway, Receiver, running, wait_for

TO = "15557770123"
WORDS = {"outbound": "zanzibar-outbound", "inbound": "zanzibar-inbound"}
ERRAND = "errand-4711"
PIN = "975318"


@dataclass
class Run:
    """A run that covers every path of data, and all secrets that its log must not contain."""

    gateway: Gateway
    customer: Customer
    message_id: str = ""
    secrets: dict[str, str] = field(default_factory=dict)

    def lines(self, message: str) -> list[dict[str, Any]]:
        """The lines of web and worker with this message."""
        lines = [line for line in self.gateway.log().splitlines() if line.startswith("{")]
        return [parsed for parsed in map(json.loads, lines) if parsed["message"] == message]

    def attempts(self, kind: str, outcome: str) -> list[dict[str, Any]]:
        """The lines of delivery attempts for events of a kind, with this result."""
        wanted = {"event_kind": kind, "outcome": outcome}
        return [line for line in self.lines("attempt") if line.items() >= wanted.items()]


def _secrets(customer: Customer, webhook: dict[str, Any]) -> dict[str, str]:
    return WORDS | {
        "key": customer.key,
        "wrong key": "mk_live_" + "x" * 43,
        "webhook secret": webhook["secret"],
        "app secret": "sandbox-app-secret",
        "verify token": "sandbox-verify-token",
        "query of the webhook": "token=quagga",
        "path of the webhook": "hidden-hook",
        "recipient": TO,
        "own number": str(customer.number["phoneNumber"]),
        "slug": "invitation-to-acme",
        "idempotency key": "idem-quagga",
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Cause refusals, sign up, fail to deliver, send, and receive, until everything is delivered."""
    receiver = Receiver()
    folder: Path = tmp_path_factory.mktemp("secrecy")
    with running(folder, GATEWAY_RETRY_SCHEDULE="0.2") as gateway:
        customer = gateway.customer()
        made = Run(gateway, customer)
        body = {
            "url": receiver.url("/hidden-hook?token=quagga"),
            "events": ["message.sent", "message.received"],
        }
        webhook = customer.request("POST", "/webhooks", json=body).json()
        made.secrets = _secrets(customer, webhook)
        _refusals(gateway, customer)
        _sign_up(made)
        _broken(made, receiver)
        _whole(made, receiver)
        yield made
    receiver.close()


def _refusals(gateway: Gateway, customer: Customer) -> None:
    stranger = {"Authorization": "Bearer mk_live_" + "x" * 43}
    assert requests.get(f"{gateway.api}/numbers", headers=stranger, timeout=9).status_code == 401
    gateway.cli(
        "signup-links",
        "create",
        customer.account_id,
        "--slug",
        "invitation-to-acme",
        "--exact",
        "--yes",
    )
    for path in ("/connect/invitation-to-acme", "/api/signup/invitation-to-acme"):
        assert requests.get(gateway.url + path, timeout=9).ok
    token = {"hub.mode": "subscribe", "hub.verify_token": "sandbox-verify-token"}
    assert requests.get(f"{gateway.url}/network/callback", token, timeout=9).ok
    bad = customer.request(
        "POST", f"/messages/send?to={TO}", json={"to": TO, "text": WORDS["outbound"]}
    )
    assert bad.status_code == 400


def _sign_up(run: Run) -> None:
    granted = run.gateway.sandbox_call("signup")
    run.secrets |= {
        "code": granted["code"],
        "pin": PIN,
        "new number": granted["display_phone_number"],
    }
    fields = {name: granted[name] for name in ("code", "phone_number_id", "waba_id")}
    url = f"{run.gateway.api}/signup/invitation-to-acme/complete"
    assert requests.post(url, json=fields | {"pin": PIN}, timeout=20).status_code == 201


def _broken(run: Run, receiver: Receiver) -> None:
    receiver.status = 500
    answer = run.customer.request(
        "POST",
        "/messages/send",
        json={
            "number_id": run.customer.number["id"],
            "to": TO,
            "type": "text",
            "text": {"body": WORDS["outbound"]},
        },
        headers={"Idempotency-Key": "idem-quagga", "X-Request-Id": ERRAND},
    )
    assert (answer.status_code, answer.headers["X-Request-Id"]) == (200, ERRAND)
    run.message_id = answer.json()["id"]
    wait_for(lambda: run.attempts("message.sent", "refused"), "a refused attempt")


def _whole(run: Run, receiver: Receiver) -> None:
    receiver.status = 200
    number = str(run.customer.number["phoneNumber"])
    run.gateway.sandbox_call(
        "inbound", **{"to": number, "from": TO, "type": "text", "text": {"body": WORDS["inbound"]}}
    )
    wait_for(lambda: run.attempts("message.received", "success"), "a delivered inbound message")


def test_no_secret_key_number_or_text_of_a_message_is_in_the_log(run: Run) -> None:
    log = run.gateway.log()
    assert [what for what, text in run.secrets.items() if text in log] == []


def test_the_log_of_api_requests_has_nothing_that_a_caller_wrote(run: Run) -> None:
    made = canaries.sing(run.customer)

    def logged() -> list[tuple[str, ...]]:
        return run.gateway.stored.rows(
            "SELECT path, query, error_json FROM api_request WHERE status >= 400"
        )

    wait_for(lambda: len(logged()) >= made, "the entries")
    text = "\n".join(str(part) for row in logged() for part in row)
    assert [
        line for line in text.splitlines() if canaries.WORD in line or canaries.NUMBER in line
    ] == []


def test_a_message_identifier_finds_its_request_and_deliveries_in_the_log(run: Run) -> None:
    [request] = [x for x in run.lines("request") if x.get("message_id") == run.message_id]
    expected = {"request_id": ERRAND, "path": "/api/messages/send", "status": 200}
    assert request.items() >= (expected | {"account_id": run.customer.account_id}).items()
    refused = run.attempts("message.sent", "refused")[0]
    expected_attempt = {"subject_id": run.message_id, "status": 500, "attempt": 1}
    assert refused.items() >= (expected_attempt | {"host": "127.0.0.1"}).items()
    assert refused["delivery_id"].startswith("dlv_")
    assert refused["event_id"].startswith("evt_")


def test_every_line_of_web_and_worker_is_json_with_a_time(run: Run) -> None:
    lines = [json.loads(x) for x in run.gateway.log().splitlines() if x.startswith("{")]
    assert {line["logger"] for line in lines} >= {"gateway.http.access_log", "tasks.attempt_log"}
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/api/numbers", 401),
        ("/nothing", 404),
        ("/api/ui/", 200),
    ],
)
def test_every_response_carries_an_identifier(run: Run, path: str, status: int) -> None:
    answer = requests.get(run.gateway.url + path, timeout=9)
    assert answer.status_code == status
    assert re.fullmatch(r"req_[0-9A-Z]{26}", answer.headers["X-Request-Id"])


def test_a_malformed_request_gets_an_identifier_too_and_is_logged_with_it(run: Run) -> None:
    with requests.Session() as session:
        answer = session.get(run.gateway.url, headers={"X-Long": "x" * 40_000}, timeout=9)
    assert answer.status_code == 431
    identifier = answer.headers["X-Request-Id"]

    def logged() -> list[dict[str, Any]]:
        return [x for x in run.lines("malformed request") if x["request_id"] == identifier]

    # The response is sent before its line is written.
    [line] = wait_for(logged, "a line of the request")
    assert line["status"] == 431

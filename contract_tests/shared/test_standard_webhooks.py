"""The libraries of Standard Webhooks verify deliveries (docs/decisions/0037-standard-webhooks.md)."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from contract_tests.harness import Customer, Gateway, Received, Receiver, Reply, wait_for
from contract_tests.standard_webhooks import UNSIGNED, VERIFIED, verdict

DAY_MS = 24 * 60 * 60 * 1000
KINDS = ["message.sent", "message.read", "number.banned"]


@dataclass
class Hook:
    """A webhook for ``message.sent`` and its receiver."""

    customer: Customer
    receiver: Receiver
    path: str
    resource: dict[str, Any]

    @property
    def address(self) -> str:
        """Its path in the API."""
        return f"/webhooks/{self.resource['id']}"

    @property
    def secret(self) -> str:
        """The current secret."""
        return str(self.resource["secret"])

    def rotate(self) -> str:
        """Rotate the secret. Returns the previous one."""
        before = self.secret
        self.resource = self.customer.request("POST", f"{self.address}/rotate-secret").json()
        return before

    def send(self, attempts: int = 1) -> list[Received]:
        """Send a message. Returns the attempts to deliver its event."""
        message_id = self.customer.send("15551234567", "Grüße, 你好 \U0001f44b").json()["id"]

        def is_wanted(received: Received) -> bool:
            return bool(received.event["data"]["id"] == message_id)

        return self.receiver.wait(self.path, attempts, is_wanted)

    def test(self, **request: Any) -> Received:
        """Request a test delivery, and return it."""
        answer = self.customer.request("POST", f"{self.address}/test", **request)
        assert answer.json()["success"], answer.text
        return self.receiver.at(self.path)[-1]


@pytest.fixture
def hook(customer: Customer, receiver: Receiver) -> Iterator[Hook]:
    """A webhook for this test only."""
    body = {"url": receiver.url(), "events": ["message.sent"]}
    resource = customer.request("POST", "/webhooks", json=body).json()
    yield Hook(customer, receiver, "/hook", resource)
    customer.request("DELETE", f"/webhooks/{resource['id']}")


def seen(secret: str, received: Received) -> str:
    """The libraries' verdict on a request."""
    return verdict(secret, received.headers, received.body)


def test_first_attempt_retry_redelivery_and_test_delivery_verify(
    hook: Hook, receiver: Receiver, customer: Customer
) -> None:
    receiver.reply = lambda _: Reply(500 if len(receiver.at()) == 1 else 200)
    first, retry = hook.send(attempts=2)
    delivery_id = first.headers["x-service-delivery"]

    def is_delivered() -> bool:
        found = customer.request("GET", f"/deliveries/{delivery_id}").json()
        return bool(found["state"] == "delivered")

    wait_for(is_delivered, "the end of the delivery")
    assert customer.request("POST", f"/deliveries/{delivery_id}/redeliver").ok
    redelivered = receiver.wait(count=3)[2]
    for received in (first, retry, redelivered, hook.test()):
        assert seen(hook.secret, received) == VERIFIED
        assert abs(int(received.headers["webhook-timestamp"]) - received.at) < 5
        assert received.is_signed_with(hook.secret)


def test_every_attempt_and_webhook_has_the_events_identifier(
    hook: Hook, receiver: Receiver, customer: Customer
) -> None:
    receiver.reply = lambda r: Reply(500 if r.headers["x-service-attempt"] == "1" else 200)
    other = {"url": receiver.url("/other"), "events": ["message.sent"]}
    other_id = customer.request("POST", "/webhooks", json=other).json()["id"]
    attempts = [*hook.send(attempts=2), *receiver.wait("/other", 2)]
    [event_id] = {received.headers["webhook-id"] for received in attempts}
    [delivery] = customer.request("GET", f"{hook.address}/deliveries").json()["data"]
    assert event_id == delivery["eventId"]
    receiver.reply = None
    [received] = hook.send()
    assert received.headers["webhook-id"] != event_id, "another event"
    customer.request("DELETE", f"/webhooks/{other_id}")


def test_changed_or_wrongly_signed_requests_are_refused(hook: Hook) -> None:
    [received] = hook.send()
    headers, body, now = received.headers, received.body, str(int(time.time()) + 2)
    assert verdict(hook.secret, headers, body) == VERIFIED
    for changed, changed_body in (
        (headers, body.replace(b"message.sent", b"message.read")),
        (headers, body + b" "),
        (headers | {"webhook-id": "evt_other"}, body),
        # A replayed request cannot have a later time.
        (headers | {"webhook-timestamp": now}, body),
    ):
        assert verdict(hook.secret, changed, changed_body) == UNSIGNED
    hook.rotate()
    assert seen(hook.secret, received) == UNSIGNED


def test_for_24_hours_after_a_rotation_both_secrets_verify(gateway: Gateway, hook: Hook) -> None:
    old = hook.rotate()
    for received in (*hook.send(), hook.test()):
        assert [seen(secret, received) for secret in (hook.secret, old)] == [VERIFIED, VERIFIED]
        assert received.is_signed_with(hook.secret)
        assert not received.is_signed_with(old)
    _age_rotation(gateway, hook, DAY_MS - 60_000)
    assert seen(old, hook.test()) == VERIFIED
    _age_rotation(gateway, hook, 60_000)
    for received in (*hook.send(), hook.test()):
        assert [seen(secret, received) for secret in (hook.secret, old)] == [VERIFIED, UNSIGNED]


def _age_rotation(gateway: Gateway, hook: Hook, milliseconds: int) -> None:
    """Make the rotation look older."""
    statement = "UPDATE webhook SET secret_changed_at = secret_changed_at - ? WHERE id = ?"
    assert gateway.stored.change(statement, milliseconds, hook.resource["id"]) == 1


def test_a_second_rotation_ends_the_first_secret(hook: Hook) -> None:
    first, second = hook.rotate(), hook.rotate()
    [received] = hook.send()
    verdicts = [seen(secret, received) for secret in (hook.secret, second, first)]
    assert verdicts == [VERIFIED, VERIFIED, UNSIGNED]


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_delivery_has_the_requested_kind(hook: Hook, kind: str) -> None:
    received = hook.test(json={"event": kind})
    assert received.event["event"] == kind
    assert seen(hook.secret, received) == VERIFIED


@pytest.mark.parametrize(
    "absent",
    [{}, {"json": {}}, {"data": b"", "headers": {"Content-Type": "application/json"}}],
    ids=["no body", "empty object", "content type only"],
)
def test_a_test_delivery_has_the_first_subscribed_kind_by_default(
    hook: Hook, absent: dict[str, Any]
) -> None:
    first, second = (hook.test(**absent) for _ in range(2))
    assert first.event["event"] == second.event["event"] == "message.sent"
    assert first.event["data"]["id"] != second.event["data"]["id"]


@pytest.mark.parametrize(
    "body", [{"event": "message.lost"}, {"event": None}, {"kind": "message.sent"}, None, []]
)
def test_a_body_that_names_no_kind_is_refused_and_nothing_is_sent(hook: Hook, body: Any) -> None:
    request = {"data": b"null"} if body is None else {"json": body}
    headers = {"Content-Type": "application/json"}
    answer = hook.customer.request("POST", f"{hook.address}/test", headers=headers, **request)
    assert answer.status_code == 400, answer.text
    assert hook.receiver.at() == []

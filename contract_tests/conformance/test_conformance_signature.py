"""The signature X-Service-Signature of deliveries, and POST .../rotate-secret."""

import hmac
import json
import re
import threading

from contract_tests.conformance.events import digest
from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient, send, statuses
from contract_tests.harness import Received, Reply

HEADER = "x-service-signature"
FORM = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)


def test_the_header_is_sha256_and_lowercase_hex_of_the_raw_body(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """Lowercase hexadecimal HMAC-SHA256 of the raw request body bytes, keyed with the secret."""
    hook = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient(), text="Gr\u00fc\u00dfe \U0001f44b")
    hook.wait()
    [received] = hook.requests
    assert FORM.fullmatch(received.headers[HEADER])
    assert hmac.compare_digest(received.headers[HEADER], digest(hook.secret, received.body))


def test_a_body_that_was_serialized_again_does_not_verify(
    sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """A receiver verifies against the raw bytes (not re-serialized JSON)."""
    hook = hooks("message.received")
    sandbox.write(number["phoneNumber"], new_recipient(), text="\U0001f44b")
    hook.wait()
    [received] = hook.requests
    again = json.dumps(received.event).encode()
    assert json.loads(again) == received.event
    assert received.headers[HEADER] != digest(hook.secret, again)


def test_the_key_is_the_whole_secret_of_this_webhook(hooks: Hooks, number: dict[str, str]) -> None:
    """'Keyed with the webhook's secret': the whole secret with its prefix, of this webhook only."""
    hook, other = hooks("message.sent"), hooks("message.sent")
    send(hooks.api, number["id"], new_recipient())
    hook.wait()
    other.wait()
    [received] = hook.requests
    [theirs] = other.requests
    assert received.body == theirs.body
    assert received.headers[HEADER] != theirs.headers[HEADER]
    for wrong in (other.secret, hook.secret.removeprefix("whsec_"), hook.secret.upper()):
        assert received.headers[HEADER] != digest(wrong, received.body)


def test_every_attempt_is_signed(sandbox: Sandbox, hooks: Hooks, number: dict[str, str]) -> None:
    """'Each delivery carries the header'. After a 401 the receiver gets the event again."""
    hook = hooks("message.received", reply=statuses(401, 401))
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait(3)
    assert {r.headers[HEADER] for r in hook.requests} == {
        digest(hook.secret, hook.requests[0].body)
    }


def test_rotating_returns_the_webhook_with_its_new_secret(api: Api, hooks: Hooks) -> None:
    """'Issues a new signing secret for the webhook', shown in full only here."""
    hook = hooks("message.sent")
    rotated = api.post(f"/webhooks/{hook.id}/rotate-secret")
    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != hook.secret
    assert len(rotated["secret"]) == len(hook.secret)
    assert rotated == hook.resource | {"secret": rotated["secret"]}
    assert hook.read()["secret"] == "whsec_****" + rotated["secret"][-4:]
    assert api.post(f"/webhooks/{hook.id}/rotate-secret")["secret"] != rotated["secret"]


def test_the_new_secret_signs_from_now_on(api: Api, hooks: Hooks, number: dict[str, str]) -> None:
    """'Can be replaced by the rotate-secret endpoint': events and tests are signed with the new secret."""
    hook = hooks("message.sent")
    old = hook.secret
    hook.resource = api.post(f"/webhooks/{hook.id}/rotate-secret")
    api.post(f"/webhooks/{hook.id}/test")
    sent = send(api, number["id"], new_recipient()).json()
    hook.wait_about(sent["id"])
    assert len(hook.wait(2)) == 2
    assert not any(r.is_signed_with(old) for r in hook.requests)


def test_a_retry_is_signed_with_the_current_secret(
    api: Api, sandbox: Sandbox, hooks: Hooks, number: dict[str, str]
) -> None:
    """The old secret is void at once, here between an attempt and its retry."""
    rotated = threading.Event()

    def fail_until_rotated(_: Received) -> Reply:
        if rotated.is_set():
            return Reply(200)
        rotated.wait(5)
        return Reply(500)

    hook = hooks("message.received", reply=fail_until_rotated)
    old = hook.secret
    sandbox.write(number["phoneNumber"], new_recipient())
    hooks.receiver.wait(hook.path)
    hook.resource = api.post(f"/webhooks/{hook.id}/rotate-secret")
    rotated.set()
    first, second = hooks.receiver.wait(hook.path, 2)
    assert first.body == second.body
    assert first.is_signed_with(old)
    assert second.is_signed_with(hook.secret)


def test_an_inactive_webhook_can_be_given_a_new_secret(api: Api, hooks: Hooks) -> None:
    """Rotation has no condition."""
    hook = hooks("message.sent")
    api.call("PATCH", f"/webhooks/{hook.id}", 200, json={"active": False})
    assert api.post(f"/webhooks/{hook.id}/rotate-secret")["active"] is False

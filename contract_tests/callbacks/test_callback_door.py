"""Which callbacks the service accepts: signature, size, and the handshake."""

import pytest
import requests

from contract_tests.callbacks.platform import SECRET, VERIFY_TOKEN, Platform, sign
from contract_tests.harness import WAIT_SECONDS, Gateway

MEBIBYTE = 1024 * 1024
STATUS = (
    b'{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":'
    b'[{"value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":'
    b'"15550783881","phone_number_id":"106540352242922"},"statuses":[{"id":"wamid.TEST",'
    b'"status":"delivered","timestamp":"1750030073","recipient_id":"16505551234"}]},'
    b'"field":"messages"}]}]}'
)
ESCAPED = rb'{"text":"ol\u00e1 \/ caf\u00e9"}'
UNESCAPED = '{"text":"olá / café"}'.encode()
# Computed with another tool for the tests' secret.
DIGESTS = {
    STATUS: "8e136c3fff3a2384785850824026c709b891229ecd68cf67e7c2ed1b8e147910",
    ESCAPED: "5ddc8ec6ad165bad7f2d25d48656abbc9fb36bb0f509a9ea00ece7f44d0d198b",
    UNESCAPED: "6e597a1b0ad181d7138790f2334a84ebffce26147fdb0649e9ed5b9f18237eae",
}


@pytest.mark.parametrize("body", DIGESTS)
def test_a_signature_over_the_raw_bytes_is_accepted(platform: Platform, body: bytes) -> None:
    assert SECRET == "test-app-secret"
    assert platform.post(body, f"sha256={DIGESTS[body]}").status_code == 200


@pytest.mark.parametrize(
    ("body", "signature"),
    [
        pytest.param(ESCAPED, f"sha256={DIGESTS[UNESCAPED]}", id="over the same value, rewritten"),
        pytest.param(UNESCAPED, f"sha256={DIGESTS[ESCAPED]}", id="over the value as it was"),
        pytest.param(STATUS + b" ", f"sha256={DIGESTS[STATUS]}", id="over one byte less"),
        pytest.param(STATUS, DIGESTS[STATUS], id="without its algorithm"),
        pytest.param(STATUS, f"sha1={DIGESTS[STATUS]}", id="of another algorithm"),
        pytest.param(STATUS, "", id="empty"),
        pytest.param(STATUS, None, id="none"),
    ],
)
def test_any_other_signature_is_refused(
    gateway: Gateway, platform: Platform, body: bytes, signature: str | None
) -> None:
    before = gateway.cli("callbacks", "aside")
    answer = platform.post(body, signature)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert gateway.cli("callbacks", "aside") == before


@pytest.mark.parametrize(("size", "status"), [(4 * MEBIBYTE, 200), (4 * MEBIBYTE + 1, 413)])
def test_a_callback_of_4_mib_is_accepted(platform: Platform, size: int, status: int) -> None:
    frame = b'{"entry":[],"padding":"%s"}'
    body = frame % (b"x" * (size - len(frame) + 2))
    assert len(body) == size
    assert platform.post(body, sign(body)).status_code == status


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"hub.verify_token": "wrong"}, 403),
        ({"hub.verify_token": None}, 403),
        ({"hub.mode": "unsubscribe"}, 403),
        ({"hub.mode": None}, 403),
    ],
)
def test_the_handshake_returns_only_the_challenge(
    gateway: Gateway, changed: dict[str, str | None], status: int
) -> None:
    query: dict[str, str | None] = {
        "hub.mode": "subscribe",
        "hub.challenge": "1158201444",
        "hub.verify_token": VERIFY_TOKEN,
    }
    answer = requests.get(
        f"{gateway.url}/network/callback", params=query | changed, timeout=WAIT_SECONDS
    )
    assert answer.status_code == status
    assert (answer.content == b"1158201444") is (status == 200)

"""Signatures of callbacks. The vectors were computed with ``openssl dgst -sha256 -hmac``."""

import pytest

from networks.whatsapp.cloud_api import SIGNATURE, CloudApi

SECRET = "test-app-secret"
STATUS = (
    b'{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":'
    b'[{"value":{"messaging_product":"whatsapp","metadata":{"display_phone_number":'
    b'"15550783881","phone_number_id":"106540352242922"},"statuses":[{"id":"wamid.TEST",'
    b'"status":"delivered","timestamp":"1750030073","recipient_id":"16505551234"}]},'
    b'"field":"messages"}]}]}'
)
ESCAPED = rb'{"text":"ol\u00e1 \/ caf\u00e9"}'
UNESCAPED = '{"text":"olá / café"}'.encode()
DIGESTS = {
    STATUS: "8e136c3fff3a2384785850824026c709b891229ecd68cf67e7c2ed1b8e147910",
    ESCAPED: "5ddc8ec6ad165bad7f2d25d48656abbc9fb36bb0f509a9ea00ece7f44d0d198b",
    UNESCAPED: "6e597a1b0ad181d7138790f2334a84ebffce26147fdb0649e9ed5b9f18237eae",
}


def is_authentic(secret: str, body: bytes, header: str | None) -> bool:
    """Whether a callback with this header, or none, is authentic."""
    network = CloudApi("http://127.0.0.1:1", "v25.0", "app-1", secret, 5)
    return network.is_authentic(body, {} if header is None else {SIGNATURE: header})


@pytest.mark.parametrize("body", DIGESTS)
def test_the_signature_over_the_raw_bytes_is_authentic(body: bytes) -> None:
    assert is_authentic(SECRET, body, f"sha256={DIGESTS[body]}")


def test_the_same_json_in_other_bytes_is_not_authentic() -> None:
    assert not is_authentic(SECRET, UNESCAPED, f"sha256={DIGESTS[ESCAPED]}")
    assert not is_authentic(SECRET, ESCAPED, f"sha256={DIGESTS[UNESCAPED]}")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "sha256=",
        DIGESTS[ESCAPED],
        f"sha1={DIGESTS[ESCAPED]}",
        f"sha256={DIGESTS[ESCAPED].upper()}",
        f"sha256={DIGESTS[ESCAPED]} ",
        f"sha256={DIGESTS[ESCAPED][:-1]}",
        f"sha256={DIGESTS[ESCAPED]}é",
        "sha256=\udcff",
    ],
)
def test_anything_but_the_exact_header_is_refused(header: str | None) -> None:
    assert not is_authentic(SECRET, ESCAPED, header)


def test_another_secret_does_not_fit() -> None:
    assert not is_authentic("another-secret", ESCAPED, f"sha256={DIGESTS[ESCAPED]}")


def test_the_header_has_the_platforms_name() -> None:
    assert SIGNATURE == "X-Hub-Signature-256"

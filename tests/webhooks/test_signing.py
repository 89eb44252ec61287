"""Signatures of deliveries. The expected values were computed with ``openssl dgst -sha256 -hmac``."""

import pytest

from webhooks.signing import HEADER, sign

SECRET = "whsec_test-secret_0123456789abcdefghijklmnopqrstuv"
EVENT = b'{"event":"message.received","timestamp":"2026-11-20T09:30:00.000Z","data":{"id":"msg_1"}}'


@pytest.mark.parametrize(
    ("body", "digest"),
    [
        (EVENT, "a397db303e9d1cc3d634689b3309df67e5033b1daa54d68904d5a606b59c0c58"),
        (
            '{"text":"olá ☕"}'.encode(),
            "ec7822954ea2e0acc84c40410fadd833d8932dbda594dcb879df51343395f1e0",
        ),
        (b"", "429deff31bf9a458711ddd86252a14df4a29a2ff003d8faa2fa9386339afd65d"),
    ],
)
def test_a_signature_is_the_hex_hmac_of_the_raw_bytes(body: bytes, digest: str) -> None:
    assert sign(SECRET, body) == f"sha256={digest}"


def test_the_prefix_is_part_of_the_key() -> None:
    without_prefix = "ff199f321a32e426cf48e8460f1af458726fc45ab8935057dd310a8d02e923dc"
    assert sign(SECRET.removeprefix("whsec_"), EVENT) == f"sha256={without_prefix}"
    assert sign(SECRET, EVENT) != f"sha256={without_prefix}"


def test_the_header_has_the_name_of_the_specification() -> None:
    assert HEADER == "X-Service-Signature"

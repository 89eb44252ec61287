"""Signatures of deliveries. The expected values were computed with ``openssl dgst -sha256``."""

import base64

import pytest

from webhooks.signing import (
    HEADER,
    ID_HEADER,
    STANDARD_HEADER,
    TIMESTAMP_HEADER,
    sign,
    sign_standard,
)

SECRET = "whsec_test-secret_0123456789abcdefghijklmnopqrstuv"
STANDARD_SECRET = "whsec_" + base64.b64encode(b"k+/=0123456789abcdefghijklmnopqr").decode()
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


@pytest.mark.parametrize(
    ("body", "signature"),
    [
        (EVENT, "v1,yy6IFdJPHCPUKBl/k/a448X4Xn2YZ5fNimn4Q0sYZP4="),
        ('{"text":"olá ☕"}'.encode(), "v1,ATxnUP/vnLLzewJOnP+dK+suHktO3hz8/ULQS++qrbQ="),
    ],
)
def test_a_standard_signature_is_of_identifier_time_and_body_with_the_decoded_secret(
    body: bytes, signature: str
) -> None:
    assert sign_standard([STANDARD_SECRET], "evt_1", 1_795_167_000, body) == signature


def test_each_secret_adds_a_signature_in_its_order() -> None:
    def signed(*secrets: str) -> list[str]:
        return sign_standard(secrets, "evt_1", 1_795_167_000, EVENT).split(" ")

    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    assert signed(STANDARD_SECRET, other) == signed(STANDARD_SECRET) + signed(other)
    assert signed(STANDARD_SECRET) != signed(other)


def test_a_secret_in_the_older_alphabet_without_padding_spells_the_same_key() -> None:
    standard = base64.b64encode(bytes.fromhex("fbffbf") + b"0123456789abcdefghijklmnopqrs").decode()
    older = "-_-_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnM"
    first, second = (
        sign_standard([f"whsec_{text}"], "evt_1", 1, EVENT) for text in (standard, older)
    )
    assert first == second


def test_the_headers_have_the_names_of_standard_webhooks() -> None:
    names = (ID_HEADER, TIMESTAMP_HEADER, STANDARD_HEADER)
    assert names == ("webhook-id", "webhook-timestamp", "webhook-signature")

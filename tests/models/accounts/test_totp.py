"""One-time passwords: the vectors of RFC 6238, and which steps are accepted."""

import base64

import pytest

from models.accounts import totp

SECRET = base64.b32encode(b"12345678901234567890").decode()
NOW = 1_795_167_000_000


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ],
)
def test_the_vectors_of_the_standard(seconds: int, code: str) -> None:
    """RFC 6238, appendix B, SHA-1. Its codes have eight digits, and ours are the last six."""
    assert totp.code_of(SECRET, seconds * 1000 // totp.STEP_MS) == code[-6:]


def test_a_clock_may_be_one_step_off() -> None:
    present = NOW // totp.STEP_MS
    found = [
        totp.matching_step(SECRET, totp.code_of(SECRET, present + off), NOW)
        for off in (-2, -1, 0, 1, 2)
    ]
    assert found == [None, present - 1, present, present + 1, None]


@pytest.mark.parametrize("code", ["", "12345", "0000000", "abcdef", "\ud800", "\uff11" * 6])
def test_malformed_codes_match_nothing(code: str) -> None:
    assert totp.matching_step(SECRET, code, NOW) is None


def test_secrets_have_160_bits_and_differ() -> None:
    first, second = totp.new_secret(), totp.new_secret()
    assert len(base64.b32decode(first)) == 20
    assert first != second


def test_an_app_reads_issuer_user_and_secret() -> None:
    assert totp.address_of(SECRET, "ada+b@example.com") == (
        "otpauth://totp/Messaging%20Gateway%3Aada%2Bb%40example.com"
        f"?secret={SECRET}&issuer=Messaging%20Gateway"
    )

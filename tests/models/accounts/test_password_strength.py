"""Which passwords are refused, and that a check is cheap."""

import time

import pytest

from models.accounts.password_strength import WeakPasswordError, check_password, strength_of

EMAIL = "zorblax.quintavius@example.com"
# Its first characters alone are hard to guess.
LONG_EMAIL = "kx7wq2vn9d-hj4tz8mf3p-rb6yc5gs1u-lq9xe2wk7v-na4hd8zt3j-mp6f@example.com"


@pytest.mark.parametrize(
    ("password", "email"),
    [
        ("ab7-zq-9x!K", EMAIL),
        ("ab7-zq    9x!K", EMAIL),
        ("ab7-zq-9x!K" * 12, EMAIL),
        ("password1234", EMAIL),
        ("dragonmonkey99", EMAIL),
        ("qwertyuiop[]", EMAIL),
        ("zorblaxquintavius", EMAIL),
        (f" {LONG_EMAIL.upper()}", LONG_EMAIL),
        ("\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005", EMAIL),
    ],
)
def test_a_password_that_is_easy_to_guess_is_refused(password: str, email: str) -> None:
    with pytest.raises(WeakPasswordError) as refused:
        check_password(password, email)
    assert password not in str(refused.value)


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "ab7-zq-9x!K1",
        "zorblaxquintavius",
        "\ud800 quiet lantern orchard",
        "quiet lantern orchard" + "x" * 107,
    ],
)
def test_another_password_is_accepted(password: str) -> None:
    check_password(password, "ada@example.com")


def test_a_check_takes_little_time_for_any_text() -> None:
    """In the time of this thread. Without the substitutes it takes a second."""
    began = time.thread_time()
    strength_of("4@8({[<3691!|17|0$5+7%2" * 44, "ada@example.com")
    assert time.thread_time() - began < 0.25

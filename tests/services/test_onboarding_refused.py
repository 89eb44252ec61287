"""Signups that the owner must complete: a PIN, a wait, or a step at the platform."""

from dataclasses import replace

import pytest

from models.accounts.account import Account
from models.database import writing
from models.numbers.number import NumberStatus
from models.numbers.signup import SignupLink
from networks.exceptions import AmbiguousError, NetworkError, RefusedError, ThrottledError
from services import onboarding
from tests import factories
from tests.fake_platform import CODE, Platform

CLAIM = onboarding.SignupClaim(CODE, "1001", "2001")


def test_an_unknown_pin_is_requested_and_then_stored(link: SignupLink, platform: Platform) -> None:
    platform.pin = "202611"
    for pin in (None, "000000"):
        with pytest.raises(onboarding.PinMismatchError, match="two-step verification"):
            onboarding.connect_number(link, replace(CLAIM, pin=pin))
    number = onboarding.connect_number(link, replace(CLAIM, pin="202611"))
    assert (number.status, number.pin) == (NumberStatus.ACTIVE, "202611")
    assert platform.asked.count("exchange_code") == 1


def test_the_pin_of_one_number_is_not_used_for_another(
    link: SignupLink, platform: Platform
) -> None:
    platform.interrupt("register")
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, replace(CLAIM, pin="202611"))
    platform.errors, platform.statuses["1000"] = {}, "CONNECTED"
    other = replace(CLAIM, phone_number_id="1000")
    assert onboarding.connect_number(link, other).pin != "202611"


def test_a_wrong_pin_does_not_replace_the_one_that_the_number_has(
    link: SignupLink, account: Account, platform: Platform
) -> None:
    known = factories.active_number(account, pin="918273")
    with writing():
        known.move_to(NumberStatus.DISCONNECTED)
    platform.pin = "918273"
    with pytest.raises(onboarding.PinMismatchError):
        onboarding.connect_number(link, replace(CLAIM, pin="000000"))
    assert onboarding.connect_number(link, CLAIM).pin == "918273"


@pytest.mark.parametrize("code", ["131031", "131037", "131042", "131045", "133006"])
def test_errors_that_the_owner_must_fix_at_the_platform_have_a_specific_text(
    link: SignupLink, platform: Platform, code: str
) -> None:
    platform.errors = {"register": RefusedError(code, "(#131042) Payment issue")}
    with pytest.raises(onboarding.SignupError) as refused:
        onboarding.connect_number(link, CLAIM)
    assert "(#" not in str(refused.value), "the platform's own words are not for the owner"


@pytest.mark.parametrize(
    ("code", "seconds"), [("133008", 3600), ("133009", 60), ("133015", 300), ("133016", 3600)]
)
def test_a_throttled_signup_says_how_long_to_wait(
    link: SignupLink, platform: Platform, code: str, seconds: int
) -> None:
    platform.errors = {"register": ThrottledError(code, "Too many attempts")}
    with pytest.raises(onboarding.SignupError) as throttled:
        onboarding.connect_number(link, CLAIM)
    assert throttled.value.retry_after == seconds


def test_other_errors_of_the_network_stay_what_they_are(
    link: SignupLink, platform: Platform
) -> None:
    platform.errors = {"subscribe": RefusedError("2200", "Callback verification failed")}
    with pytest.raises(NetworkError, match="2200"):
        onboarding.connect_number(link, CLAIM)

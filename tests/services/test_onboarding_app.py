"""Connecting a number that its owner also uses in the network's app."""

import pytest

from models.numbers.number import NumberStatus
from models.numbers.signup import SignupLink
from networks.exceptions import RefusedError
from services import onboarding
from tests.fake_platform import CODE, Platform

# The signup names only the business account.
CLAIM = onboarding.SignupClaim(CODE, "", "2001")


@pytest.fixture
def platform(platform: Platform) -> Platform:
    """The account has one number, which is connected already."""
    platform.statuses = {"1001": "CONNECTED"}
    return platform


def test_the_only_number_of_the_account_is_connected_without_a_pin(
    link: SignupLink, platform: Platform
) -> None:
    number = onboarding.connect_number(link, CLAIM)
    assert (number.status, number.phone_number_id) == (NumberStatus.ACTIVE, "1001")
    assert "register" not in platform.asked
    assert platform.asked[-1] == "request_app_data"


def test_a_claim_without_a_number_is_refused_if_the_account_has_several(
    link: SignupLink, platform: Platform
) -> None:
    platform.statuses["1000"] = "CONNECTED"
    with pytest.raises(onboarding.SeveralNumbersError) as refused:
        onboarding.connect_number(link, CLAIM)
    assert refused.value.details["field"] == "/phone_number_id"
    claim = onboarding.SignupClaim(CODE, "1000", "2001")
    assert onboarding.connect_number(link, claim).phone_number_id == "1000"


def test_a_claim_without_a_number_is_refused_if_the_account_has_none(
    link: SignupLink, platform: Platform
) -> None:
    platform.statuses = {}
    with pytest.raises(onboarding.SignupError) as refused:
        onboarding.connect_number(link, CLAIM)
    assert type(refused.value) is onboarding.SignupError


def test_a_number_that_brings_no_data_of_the_app_is_connected(
    link: SignupLink, platform: Platform
) -> None:
    platform.errors = {"request_app_data": RefusedError("100", "Not used in the app.")}
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE


def test_a_new_number_is_registered_and_brings_nothing(
    link: SignupLink, platform: Platform
) -> None:
    platform.statuses = {"1001": "PENDING"}
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE
    assert "register" in platform.asked
    assert "request_app_data" not in platform.asked

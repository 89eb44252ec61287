"""Networks for signups and for checks of numbers, and an open link."""

import pytest

from models.accounts.account import Account
from models.numbers.signup import SignupLink
from services import number_checks, onboarding
from tests.asked_platform import AskedPlatform
from tests.fake_platform import Platform


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """The network that signups call."""
    platform = Platform()
    monkeypatch.setattr(onboarding, "get_network", lambda: platform)
    return platform


@pytest.fixture
def asked_platform(monkeypatch: pytest.MonkeyPatch) -> AskedPlatform:
    """The network that checks of numbers call."""
    platform = AskedPlatform()
    monkeypatch.setattr(number_checks, "network_of", lambda _: platform)
    return platform


@pytest.fixture
def link(account: Account) -> SignupLink:
    """An open link of the account."""
    return SignupLink.open(account, "acme")

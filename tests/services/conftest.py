"""Fixtures of signups: an open link, and a network that knows one business account."""

import pytest

from models.accounts.account import Account
from models.numbers.signup import SignupLink
from services import onboarding
from tests.fake_platform import Platform


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """The network that signups call."""
    platform = Platform()
    monkeypatch.setattr(onboarding, "get_network", lambda: platform)
    return platform


@pytest.fixture
def link(account: Account) -> SignupLink:
    """An open link of the account."""
    return SignupLink.open(account, "acme")

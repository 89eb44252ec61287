"""Signup links: one signup each, until they expire."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.numbers.number import Number
from models.numbers.signup import LIFETIME_MS, SignupLink, SlugTakenError
from tests import factories
from tests.conftest import Clock


@pytest.fixture
def link(account: Account) -> SignupLink:
    return SignupLink.open(account, "acme")


def _use(link: SignupLink, number: Number) -> bool:
    with writing():
        return link.use(number)


def _reloaded(link: SignupLink) -> SignupLink:
    found = SignupLink.find(link.slug)
    assert found is not None
    return found


def test_a_new_link_is_open_and_knows_its_account(link: SignupLink, account: Account) -> None:
    found = _reloaded(link)
    assert found.why_closed() is None
    assert found.account.name == account.name
    assert SignupLink.find("nothing") is None


def test_a_slug_is_unique_over_all_accounts(link: SignupLink) -> None:
    with pytest.raises(SlugTakenError):
        SignupLink.open(Account.open("Rival", "pro"), link.slug)


def test_a_link_is_good_for_one_signup(link: SignupLink, number: Number) -> None:
    again = _reloaded(link)
    assert _use(link, number)
    assert not _use(again, number)
    assert _reloaded(link).why_closed() == "used"
    assert SignupLink.select().where(SignupLink.number == number.id).exists()


def test_requests_that_race_for_a_link_use_it_once(link: SignupLink, account: Account) -> None:
    numbers = [factories.active_number(account, str(i)) for i in range(4)]
    used = factories.at_once(*[lambda n=number: _use(link, n) for number in numbers])
    assert sorted(used) == [False, False, False, True]


def test_a_link_expires_after_seven_days(link: SignupLink, clock: Clock) -> None:
    opened = SignupLink.open(link.account, "later")
    assert opened.expires_at - clock.at == LIFETIME_MS == 7 * 24 * 3600 * 1000
    clock.advance(days=7, milliseconds=-1)
    assert opened.why_closed() is None
    clock.advance(milliseconds=1)
    assert opened.why_closed() == "expired"


def test_a_revoked_link_is_closed(link: SignupLink) -> None:
    link.revoke()
    assert _reloaded(link).why_closed() == "revoked"


def test_a_link_revoked_during_a_signup_is_not_used(link: SignupLink, number: Number) -> None:
    link.revoke()
    assert not _use(link, number)


def test_a_used_link_stays_used_when_it_is_revoked(link: SignupLink, number: Number) -> None:
    _use(link, number)
    link.revoke()
    assert _reloaded(link).why_closed() == "used"
    assert _reloaded(link).revoked_at is None

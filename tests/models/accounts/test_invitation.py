"""Invitations and password links: valid once, for a limited time, and stored as digests."""

import hashlib

import pytest

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation, LinkClosedError, spend
from models.accounts.password import PasswordReset, replace_password
from models.accounts.user import Role, User, hash_password
from models.accounts.user_session import UserSession
from tasks.retention import remove_old
from tests import factories
from tests.conftest import Clock
from tests.people import member

ADDRESS, PASSWORD = "192.0.2.1", "a password of one's own"
EMAIL = "guest@example.com"


def _invite(account: Account, role: Role = Role.AGENT) -> tuple[Invitation, str]:
    return Invitation.open(account, EMAIL, role)


def test_tokens_are_kept_as_digests(account: Account) -> None:
    row, token = _invite(account)
    assert row.digest == hashlib.sha256(token.encode()).hexdigest()
    PasswordReset.open(member(account, Role.VIEWER))
    assert all(len(row.digest) == 64 for row in PasswordReset.select())


def test_an_invitation_expires_after_seven_days(account: Account, clock: Clock) -> None:
    row, token = _invite(account)
    clock.advance(days=7, milliseconds=-1)
    assert Invitation.find(token) is not None
    clock.advance(milliseconds=1)
    assert Invitation.find(token) is None
    assert Invitation.pending(account.id) == []
    with pytest.raises(LinkClosedError):
        spend(row, row.expires_at)


def test_a_password_link_works_once_and_ends_all_sessions(account: Account) -> None:
    user = member(account, Role.OWNER)
    session, token = UserSession.begin(user), PasswordReset.open(user)
    row = PasswordReset.find(token)
    assert row is not None
    row.use(hash_password(PASSWORD, EMAIL), ADDRESS)
    assert User.authenticate(user.email, PASSWORD) == [user]
    assert UserSession.resume(session) is None
    assert PasswordReset.find(token) is None
    with pytest.raises(LinkClosedError):
        row.use(hash_password("another password", EMAIL), ADDRESS)
    assert User.authenticate(user.email, PASSWORD) == [user]


def test_one_of_two_concurrent_uses_of_a_password_link_succeeds(account: Account) -> None:
    user = member(account, Role.OWNER)
    token = PasswordReset.open(user)
    passwords = [f"password number {count}" for count in range(4)]
    results = factories.at_once(*(lambda given=given: _used(token, given) for given in passwords))
    assert sum(results) == 1
    assert User.authenticate(user.email, passwords[results.index(True)]) == [user]


def _used(token: str, password: str) -> bool:
    found = PasswordReset.find(token)
    try:
        return found is not None and bool(found.use(hash_password(password, EMAIL), ADDRESS))
    except LinkClosedError:
        return False


def test_a_password_link_expires_after_a_day_and_with_a_second_one(
    account: Account, clock: Clock
) -> None:
    user = member(account, Role.OWNER)
    first, second = PasswordReset.open(user), PasswordReset.open(user)
    assert PasswordReset.find(first) is None
    clock.advance(hours=24, milliseconds=-1)
    assert PasswordReset.find(second) is not None
    clock.advance(milliseconds=1)
    assert PasswordReset.find(second) is None


def test_another_new_password_closes_the_link(account: Account) -> None:
    user = member(account, Role.OWNER)
    token = PasswordReset.open(user)
    replace_password(user, hash_password(PASSWORD, user.email))
    assert PasswordReset.find(token) is None


def test_links_of_a_suspended_account_open_nothing(account: Account) -> None:
    _, invited = _invite(account)
    reset = PasswordReset.open(member(account, Role.OWNER))
    account.suspend()
    assert Invitation.find(invited) is None
    assert PasswordReset.find(reset) is None


def test_links_and_rows_of_the_audit_log_go_with_time(account: Account, clock: Clock) -> None:
    owner = member(account, Role.OWNER)
    _invite(account)
    PasswordReset.open(owner)
    rows = Audit.select().count()
    clock.advance(days=2)
    remove_old()
    assert (Invitation.select().count(), PasswordReset.select().count()) == (1, 0)
    clock.advance(days=6)
    remove_old()
    assert Invitation.select().count() == 0
    clock.advance(days=356)
    remove_old()
    assert Audit.select().count() == rows
    clock.advance(days=2)
    remove_old()
    assert Audit.select().count() == 0

"""Invitations and password links: valid once, for a limited time, and stored as digests."""

import hashlib

import pytest

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation, LinkClosedError
from models.accounts.password import PasswordReset, change_password
from models.accounts.user import EmailTakenError, LastOwnerError, Role, User
from models.accounts.user_session import UserSession
from models.database import writing
from tasks.retention import remove_old
from tests import factories
from tests.conftest import Clock
from tests.people import member

ADDRESS, PASSWORD = "192.0.2.1", "a password of one's own"
EMAIL = "guest@example.com"


def _invite(account: Account, role: Role = Role.AGENT) -> tuple[Invitation, str]:
    return Invitation.open(account, EMAIL, role)


def test_an_invitation_makes_a_user_once(account: Account) -> None:
    row, token = _invite(account)
    found = Invitation.find(token)
    assert found == row
    user = found.accept(PASSWORD, ADDRESS)
    assert (user.email, user.role, user.account_id) == (EMAIL, Role.AGENT, account.id)
    assert User.authenticate(EMAIL, PASSWORD) == user
    assert Invitation.find(token) is None
    with pytest.raises(LinkClosedError):
        found.accept(PASSWORD, ADDRESS)
    [noted] = Audit.select()
    assert (noted.action, noted.subject, noted.address) == (
        "invitation.accepted",
        user.id,
        ADDRESS,
    )


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
        row.accept(PASSWORD, ADDRESS)
    assert User.all() == []


def test_a_second_invitation_of_a_person_closes_the_first(account: Account) -> None:
    _, first = _invite(account)
    _, second = _invite(account, Role.VIEWER)
    assert Invitation.find(first) is None
    assert Invitation.find(second) is not None


def test_a_withdrawn_invitation_opens_nothing(account: Account) -> None:
    row, token = _invite(account)
    with writing():
        row.delete_instance()
    assert Invitation.find(token) is None
    with pytest.raises(LinkClosedError):
        row.accept(PASSWORD, ADDRESS)


def test_an_existing_user_is_neither_invited_nor_created_again(
    account: Account,
) -> None:
    member(Account.open("Other", "pro"), Role.OWNER, "guest")
    row, token = _invite(account)
    with pytest.raises(EmailTakenError):
        row.accept(PASSWORD, ADDRESS)
    assert Invitation.find(token) is not None
    member(account, Role.OWNER, "ada")
    with pytest.raises(EmailTakenError):
        Invitation.open(account, "ADA@example.com", Role.VIEWER)


def test_one_of_two_concurrent_acceptances_succeeds(account: Account) -> None:
    row, token = _invite(account)
    results = factories.at_once(*[lambda: _accepted(token)] * 4)
    assert sorted(results) == [False, False, False, True]
    assert [user.email for user in User.all()] == [row.email]


def _accepted(token: str) -> bool:
    found = Invitation.find(token)
    try:
        return found is not None and bool(found.accept(PASSWORD, ADDRESS))
    except LinkClosedError:
        return False


def test_a_password_link_works_once_and_ends_all_sessions(account: Account) -> None:
    user = member(account, Role.OWNER)
    session, token = UserSession.begin(user), PasswordReset.open(user)
    row = PasswordReset.find(token)
    assert row is not None
    row.use(PASSWORD, ADDRESS)
    assert User.authenticate(user.email, PASSWORD) == user
    assert UserSession.resume(session) is None
    assert PasswordReset.find(token) is None
    with pytest.raises(LinkClosedError):
        row.use("another password", ADDRESS)
    assert User.authenticate(user.email, PASSWORD) == user


def test_one_of_two_concurrent_uses_of_a_password_link_succeeds(account: Account) -> None:
    user = member(account, Role.OWNER)
    token = PasswordReset.open(user)
    passwords = [f"password number {count}" for count in range(4)]
    results = factories.at_once(*(lambda given=given: _used(token, given) for given in passwords))
    assert sum(results) == 1
    assert User.authenticate(user.email, passwords[results.index(True)]) == user


def _used(token: str, password: str) -> bool:
    found = PasswordReset.find(token)
    try:
        return found is not None and bool(found.use(password, ADDRESS))
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
    change_password(user, PASSWORD)
    assert PasswordReset.find(token) is None


def test_links_of_a_suspended_account_open_nothing(account: Account) -> None:
    _, invited = _invite(account)
    reset = PasswordReset.open(member(account, Role.OWNER))
    account.suspend()
    assert Invitation.find(invited) is None
    assert PasswordReset.find(reset) is None


def test_the_last_owner_stays_an_owner(account: Account) -> None:
    owner, other = member(account, Role.OWNER), member(account, Role.AGENT)
    for action in (owner.dismiss, lambda: owner.become(Role.AGENT)):
        with pytest.raises(LastOwnerError):
            action()
    owner.become(Role.OWNER)
    other.become(Role.OWNER)
    owner.become(Role.VIEWER)
    assert User.owners(account.id) == [other]


def test_one_of_two_owners_who_remove_each_other_remains(account: Account) -> None:
    both = [member(account, Role.OWNER, name) for name in ("one", "two")]
    assert sorted(factories.at_once(*(lambda user=user: _dismissed(user) for user in both))) == [
        False,
        True,
    ]
    assert len(User.owners(account.id)) == 1


def _dismissed(user: User) -> bool:
    try:
        user.dismiss()
    except LastOwnerError:
        return False
    return True


def test_links_and_rows_of_the_audit_log_go_with_time(account: Account, clock: Clock) -> None:
    owner = member(account, Role.OWNER)
    _invite(account)
    PasswordReset.open(owner)
    Audit.note(owner, "key.created", ADDRESS)
    clock.advance(days=2)
    remove_old()
    assert (Invitation.select().count(), PasswordReset.select().count()) == (1, 0)
    clock.advance(days=6)
    remove_old()
    assert Invitation.select().count() == 0
    clock.advance(days=356)
    remove_old()
    assert Audit.select().count() == 1
    clock.advance(days=2)
    remove_old()
    assert Audit.select().count() == 0

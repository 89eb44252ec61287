"""Two-factor authentication: each code is valid once, and no session starts without one."""

import pytest

from models.accounts import secret, two_factor
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.password import replace_password
from models.accounts.sign_in import Client, PendingSignIn, Step, sign_in
from models.accounts.two_factor import RECOVERY_CODES, RecoveryCode
from models.accounts.user import Role, User, hash_password
from models.accounts.user_session import (
    PROOF_LIMIT,
    SignInAttempt,
    TooManyAttemptsError,
    UserSession,
)
from tests import factories
from tests.conftest import Clock
from tests.people import PASSWORD, app_code, member, with_two_factor

CLIENT = Client("192.0.2.1", "Firefox on Linux", "visitor")


@pytest.fixture
def user(account: Account) -> User:
    """A user of the account, without two-factor authentication."""
    return member(account, Role.DEVELOPER)


@pytest.fixture
def codes(user: User, clock: Clock) -> list[str]:
    """The recovery codes of the user, who has it on since a minute ago."""
    made = with_two_factor(user)
    clock.advance(minutes=1)
    return made


def _pending(user: User) -> PendingSignIn:
    entry = sign_in(user.email, PASSWORD, CLIENT)
    assert entry is not None
    assert entry.needs == Step.CODE
    found = PendingSignIn.find(entry.token, CLIENT.visitor, Step.CODE)
    assert found is not None
    return found


def test_the_secret_is_sealed_and_recovery_codes_are_hashed(user: User, codes: list[str]) -> None:
    kept = User.get_by_id(user.id)
    assert kept.sealed_totp is not None
    assert secret.decrypt(kept.sealed_totp) not in kept.sealed_totp
    digests = {row.digest for row in RecoveryCode.select()}
    assert len(digests) == len(set(codes)) == RECOVERY_CODES
    assert not digests & set(codes)


def test_it_is_off_until_the_first_code_of_the_app(user: User, clock: Clock) -> None:
    assert clock.at
    two_factor.set_up(user)
    assert two_factor.turn_on(user, "000000") is None
    assert not User.get_by_id(user.id).has_two_factor
    entry = sign_in(user.email, PASSWORD, CLIENT)
    assert entry is not None
    assert entry.needs is None


@pytest.mark.usefixtures("codes")
def test_enabled_two_factor_is_neither_set_up_again_nor_shown(user: User) -> None:
    before = User.get_by_id(user.id).sealed_totp
    two_factor.set_up(user)
    assert User.get_by_id(user.id).sealed_totp == before
    assert two_factor.turn_on(user, app_code(user)) is None
    assert two_factor.pending_secret(User.get_by_id(user.id)) is None


@pytest.mark.usefixtures("codes")
def test_no_session_exists_before_the_code(user: User) -> None:
    pending = _pending(user)
    assert UserSession.select().count() == 0
    assert pending.finish("000000", CLIENT) is None
    assert UserSession.select().count() == 0
    entry = pending.finish(app_code(user), CLIENT)
    assert entry is not None
    assert UserSession.resume(entry.token) is not None
    assert PendingSignIn.select().count() == 0


@pytest.mark.usefixtures("codes")
def test_a_code_works_once_and_earlier_codes_do_not_work_after_it(user: User) -> None:
    assert two_factor.accept(user, app_code(user))
    assert not two_factor.accept(user, app_code(user))
    assert not two_factor.accept(user, app_code(user, -1))
    assert two_factor.accept(user, app_code(user, 1))


def test_the_code_that_turned_it_on_signs_nobody_in(user: User, clock: Clock) -> None:
    assert clock.at
    with_two_factor(user)
    assert _pending(user).finish(app_code(user), CLIENT) is None


@pytest.mark.usefixtures("codes")
def test_one_of_two_concurrent_sign_ins_with_a_code_succeeds(user: User) -> None:
    code, rows = app_code(user), [_pending(user) for _ in range(4)]
    entries = factories.at_once(*(lambda row=row: row.finish(code, CLIENT) for row in rows))
    assert sum(entry is not None for entry in entries) == 1
    assert UserSession.select().count() == 1


@pytest.mark.usefixtures("codes")
def test_one_pending_sign_in_begins_one_session(user: User) -> None:
    row = _pending(user)
    entries = [row.finish(app_code(user), CLIENT), row.finish(app_code(user, 1), CLIENT)]
    assert [entry is not None for entry in entries] == [True, False]


def test_a_recovery_code_works_once_however_it_is_typed(user: User, codes: list[str]) -> None:
    typed = codes[0].upper().replace("-", " ")
    assert two_factor.accept(user, typed)
    assert not two_factor.accept(user, codes[0])
    assert len(RecoveryCode.of(user)) == RECOVERY_CODES - 1
    results = factories.at_once(*[lambda: two_factor.accept(user, codes[1])] * 4)
    assert sorted(results) == [False, False, False, True]


def test_a_recovery_code_of_another_user_opens_nothing(account: Account, codes: list[str]) -> None:
    other = member(account, Role.VIEWER)
    with_two_factor(other)
    assert not two_factor.accept(other, codes[0])


@pytest.mark.usefixtures("codes")
def test_a_pending_sign_in_ends_after_five_minutes_and_is_bound_to_its_visitor(
    user: User, clock: Clock
) -> None:
    entry = sign_in(user.email, PASSWORD, CLIENT)
    assert entry is not None
    assert PendingSignIn.find(entry.token, "another visitor", Step.CODE) is None
    assert PendingSignIn.find(entry.token, CLIENT.visitor, Step.ACCOUNT) is None
    assert UserSession.resume(entry.token) is None
    assert PendingSignIn.find(entry.token, CLIENT.visitor, Step.CODE) is not None
    clock.advance(minutes=5)
    assert PendingSignIn.find(entry.token, CLIENT.visitor, Step.CODE) is None


@pytest.mark.usefixtures("codes")
def test_a_new_password_ends_pending_sign_ins(user: User) -> None:
    _pending(user)
    replace_password(user, hash_password("another password", user.email))
    assert PendingSignIn.select().count() == 0


@pytest.mark.usefixtures("codes")
def test_ten_wrong_codes_delay_further_attempts_from_any_address(user: User, clock: Clock) -> None:
    """A correct password in between does not reset the count."""
    for count in range(PROOF_LIMIT):
        elsewhere = Client(f"192.0.2.{count}", "", "visitor")
        assert sign_in(user.email, PASSWORD, elsewhere)
        assert _pending(user).finish("000000", elsewhere) is None
        SignInAttempt.forget(user.email, CLIENT.address)
    with pytest.raises(TooManyAttemptsError):
        _pending(user).finish(app_code(user), CLIENT)
    assert Audit.select().where(Audit.action == "session.code_refused").count() == PROOF_LIMIT
    clock.advance(minutes=15)
    assert _pending(user).finish(app_code(user), CLIENT)


@pytest.mark.usefixtures("codes")
def test_the_password_alone_counts_as_an_attempt_until_the_code_is_right(user: User) -> None:
    """So a client with the password gets at most five pending sign-ins from an address."""
    for _ in range(5):
        sign_in(user.email, PASSWORD, CLIENT)
    with pytest.raises(TooManyAttemptsError):
        sign_in(user.email, PASSWORD, CLIENT)


def test_turning_two_factor_off_removes_its_secret_and_codes(user: User, codes: list[str]) -> None:
    two_factor.turn_off(user)
    kept = User.get_by_id(user.id)
    assert (kept.sealed_totp, kept.totp_since, len(RecoveryCode.of(user))) == (None, None, 0)
    assert not two_factor.accept(user, codes[0])

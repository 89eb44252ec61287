"""Users, their sessions, and what bounds the attempts to sign in."""

import pytest

from contract_tests.stored import Stored
from models.account import Account
from models.sign_in_attempt import ADDRESS_LIMIT, EMAIL_LIMIT, SignInAttempt, TooManyAttemptsError
from models.user import EmailTakenError, User
from models.user_session import UserSession, change_password
from tasks.retention import remove_old
from tasks.sign_in import WrongCredentialsError, sign_in
from tests.conftest import Clock

PASSWORD = "correct horse battery"
ADDRESS = "192.0.2.1"


@pytest.fixture
def user(account: Account) -> User:
    """A user of the account."""
    return User.enrol(account, "Ada@Example.com", PASSWORD)


def _seconds_to_wait(email: str, address: str) -> int:
    with pytest.raises(TooManyAttemptsError) as caught:
        SignInAttempt.begin(email, address)
    return caught.value.retry_after


def test_a_password_is_kept_as_an_argon2id_hash(user: User) -> None:
    assert user.password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert PASSWORD not in user.password_hash


def test_an_email_is_one_whatever_its_case(user: User, account: Account) -> None:
    assert User.find(" ADA@example.COM ") == user
    with pytest.raises(EmailTakenError):
        User.enrol(account, "ada@EXAMPLE.com", PASSWORD)


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("ada@example.com", "wrong"),
        ("nobody@example.com", PASSWORD),
        ("", ""),
        ("ada@example.com", "\ud800"),
        ("ada@example.com", PASSWORD + "x" * 2000),
    ],
)
def test_nothing_but_the_right_pair_signs_in(user: User, email: str, password: str) -> None:
    assert user.id
    with pytest.raises(WrongCredentialsError):
        sign_in(email, password, ADDRESS)
    assert UserSession.select().count() == 0


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_a_password_is_hashed_whether_the_user_exists_or_not(
    user: User, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []

    class Hasher:
        def verify(self, hashed: str, _password: bytes) -> bool:
            checked.append(hashed)
            return True

    monkeypatch.setattr("models.user._hasher", Hasher())
    found = User.authenticate(email, PASSWORD)
    assert (found == user) is (email == user.email)
    assert [hashed.split("$")[1:4] for hashed in checked] == [
        ["argon2id", "v=19", "m=19456,t=2,p=1"]
    ]


def test_a_session_ends_twelve_hours_after_it_began_however_busy_it_is(
    clock: Clock, user: User
) -> None:
    token = UserSession.begin(user)
    for _ in range(11):
        clock.advance(hours=1)
        assert UserSession.resume(token) is not None
    clock.advance(hours=1)
    assert UserSession.resume(token) is None


def test_a_session_ends_after_two_hours_without_use(clock: Clock, user: User) -> None:
    token = UserSession.begin(user)
    clock.advance(hours=1, minutes=59)
    assert UserSession.resume(token) is not None
    clock.advance(hours=2)
    assert UserSession.resume(token) is None


def test_a_new_password_ends_the_users_sessions_and_nobody_elses(
    user: User, account: Account
) -> None:
    other = User.enrol(account, "other@example.com", PASSWORD)
    mine, theirs = UserSession.begin(user), UserSession.begin(other)
    change_password(user, "another password")
    assert UserSession.resume(mine) is None
    assert UserSession.resume(theirs) is not None
    assert User.authenticate(user.email, PASSWORD) is None
    assert User.authenticate(user.email, "another password") == user


def test_an_email_has_five_attempts_in_fifteen_minutes_from_wherever(clock: Clock) -> None:
    for count in range(EMAIL_LIMIT):
        SignInAttempt.begin("Ada@example.com", f"192.0.2.{count}")
        clock.advance(minutes=1)
    assert _seconds_to_wait("ada@example.com", "192.0.2.99") == 10 * 60
    SignInAttempt.begin("other@example.com", "192.0.2.99")
    clock.advance(minutes=10)
    SignInAttempt.begin("ada@example.com", "192.0.2.99")
    assert _seconds_to_wait("ada@example.com", "192.0.2.99") == 60


def test_an_address_cannot_try_one_email_after_another_for_ever(clock: Clock) -> None:
    assert clock.at
    for count in range(ADDRESS_LIMIT):
        SignInAttempt.begin(f"person-{count}@example.com", ADDRESS)
    assert _seconds_to_wait("one-more@example.com", ADDRESS) == 15 * 60


def test_signing_in_forgives_the_email_but_only_itself_to_the_address(user: User) -> None:
    SignInAttempt.begin("nobody@example.com", ADDRESS)
    for _ in range(EMAIL_LIMIT * 2):
        sign_in(user.email, PASSWORD, ADDRESS)
    # One attempt of two rows is left: the wrong one.
    assert SignInAttempt.select().count() == 2


def test_sessions_and_attempts_are_removed_after_a_day(clock: Clock, user: User) -> None:
    UserSession.begin(user)
    SignInAttempt.begin(user.email, ADDRESS)
    clock.advance(hours=23)
    remove_old()
    assert (UserSession.select().count(), SignInAttempt.select().count()) == (1, 2)
    clock.advance(hours=2)
    remove_old()
    assert (UserSession.select().count(), SignInAttempt.select().count()) == (0, 0)


@pytest.fixture(autouse=True)
def _database(state: Stored) -> None:
    assert state.environment

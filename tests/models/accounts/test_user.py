"""Users, their sessions, and the limits of sign-in attempts."""

import pytest
from argon2 import PasswordHasher

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.password import replace_password
from models.accounts.sign_in import Client, sign_in
from models.accounts.user import EmailTakenError, User, hash_password
from models.accounts.user_session import (
    ADDRESS_LIMIT,
    ATTACKED_AT,
    PAIR_LIMIT,
    SignInAttempt,
    TooManyAttemptsError,
    UserSession,
)
from tasks.retention import remove_old
from tests.conftest import Clock
from tests.people import enrol

PASSWORD = "correct horse battery"
ADDRESS = "192.0.2.1"
CLIENT = Client(ADDRESS)


@pytest.fixture
def user(account: Account) -> User:
    """A user of the account."""
    return enrol(account, "Ada@Example.com", PASSWORD)


def _seconds_to_wait(email: str, address: str) -> int:
    with pytest.raises(TooManyAttemptsError) as caught:
        SignInAttempt.begin(email, address)
    return caught.value.retry_after


def test_a_password_is_kept_as_an_argon2id_hash(user: User) -> None:
    assert user.password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert PASSWORD not in user.password_hash


def test_a_password_that_1_0_0_accepted_still_signs_in(user: User) -> None:
    long = "quiet lantern orchard" + "x" * 1003
    user.amend_person(password_hash=PasswordHasher(1, 8, 1).hash(long))
    assert User.authenticate(user.email, long) == [user]
    assert not User.authenticate(user.email, long + "x")
    assert not User.authenticate(user.email, long[:-1])


@pytest.mark.parametrize(
    "email", ["ada@b\u00fccher.example", "\u00e4da@x", "a..b@x_y", "ada@xn--a"]
)
def test_an_email_that_1_0_0_accepted_still_signs_in(user: User, email: str) -> None:
    user.amend_person(email=email)
    assert User.authenticate(email.upper(), PASSWORD) == [user]


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "B\u00dcCHER.example"),
    ],
)
def test_a_person_is_one_in_both_spellings_of_a_domain(
    account: Account, typed: str, sent: str
) -> None:
    """Browsers send the one in ASCII for the other."""
    first = enrol(account, f"ada@{typed}", PASSWORD)
    assert User.person(f"Ada@{sent}") == [first]
    second = enrol(Account.open("Other", "pro"), f"ada@{sent}", PASSWORD)
    assert second.email == first.email
    for _ in range(PAIR_LIMIT):
        SignInAttempt.begin(f"ada@{typed}", ADDRESS)
    assert _seconds_to_wait(f"ada@{sent}", ADDRESS)


def test_an_email_is_one_whatever_its_case(user: User, account: Account) -> None:
    assert User.person(" ADA@example.COM ") == [user]
    with pytest.raises(EmailTakenError):
        enrol(account, "ada@EXAMPLE.com", PASSWORD)


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
    assert sign_in(email, password, CLIENT) is None
    assert UserSession.select().count() == 0


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_a_wrong_password_writes_as_many_rows_for_an_unknown_email(user: User, email: str) -> None:
    """Otherwise the response time would reveal which emails are known."""
    assert user.id
    Audit.delete().execute()
    assert sign_in(email, "wrong", CLIENT) is None
    # Three of the attempt, and one.
    assert SignInAttempt.select().count() + Audit.select().count() == 3 + 1


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
def test_a_password_is_hashed_whether_the_user_exists_or_not(
    user: User, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []

    class Hasher:
        def verify(self, hashed: str, _password: bytes) -> bool:
            checked.append(hashed)
            return True

    monkeypatch.setattr("models.accounts.user._hasher", Hasher())
    found = User.authenticate(email, PASSWORD)
    assert (found == [user]) is (email == user.email)
    assert [hashed.split("$")[1:4] for hashed in checked] == [
        ["argon2id", "v=19", "m=19456,t=2,p=1"]
    ]


def test_a_session_ends_twelve_hours_after_it_began_however_busy_it_is(
    clock: Clock, user: User
) -> None:
    token = UserSession.begin(user)
    for _ in range(12 * 3 - 1):
        clock.advance(minutes=20)
        assert UserSession.resume(token) is not None
    clock.advance(minutes=20)
    assert UserSession.resume(token) is None


def test_a_session_ends_after_half_an_hour_without_use(clock: Clock, user: User) -> None:
    token = UserSession.begin(user)
    clock.advance(minutes=29)
    assert UserSession.resume(token) is not None
    clock.advance(minutes=30)
    assert UserSession.resume(token) is None


def test_a_new_password_ends_the_users_sessions_and_nobody_elses(
    user: User, account: Account
) -> None:
    other = enrol(account, "other@example.com", PASSWORD)
    mine, theirs = UserSession.begin(user), UserSession.begin(other)
    replace_password(user, hash_password("another password", user.email))
    assert UserSession.resume(mine) is None
    assert UserSession.resume(theirs) is not None
    assert not User.authenticate(user.email, PASSWORD)
    assert User.authenticate(user.email, "another password") == [user]


def test_an_address_has_five_attempts_at_an_email_in_fifteen_minutes(clock: Clock) -> None:
    for _ in range(PAIR_LIMIT):
        SignInAttempt.begin("Ada@example.com", ADDRESS)
        clock.advance(minutes=1)
    assert _seconds_to_wait("ada@example.com", ADDRESS) == 10 * 60
    SignInAttempt.begin("other@example.com", ADDRESS)
    clock.advance(minutes=10)
    SignInAttempt.begin("ada@example.com", ADDRESS)
    assert _seconds_to_wait("ada@example.com", ADDRESS) == 60


def test_wrong_passwords_from_one_address_keep_nobody_out_elsewhere(user: User) -> None:
    for _ in range(PAIR_LIMIT):
        assert sign_in(user.email, "wrong", CLIENT) is None
    assert _seconds_to_wait(user.email, ADDRESS) > 0
    assert sign_in(user.email, PASSWORD, Client("192.0.2.2"))


def test_an_email_tried_from_many_addresses_has_one_attempt_from_each(
    clock: Clock, user: User
) -> None:
    assert clock.at
    for count in range(ATTACKED_AT):
        SignInAttempt.begin(user.email, f"198.51.100.{count}")
    for address in ("198.51.100.0", "198.51.100.19"):
        assert _seconds_to_wait(user.email, address) == 15 * 60
    SignInAttempt.begin(user.email, "203.0.113.1")
    assert _seconds_to_wait(user.email, "203.0.113.1") == 15 * 60
    # The owner can always sign in, which does not reset the limit for others.
    for _ in range(PAIR_LIMIT * 2):
        assert sign_in(user.email, PASSWORD, CLIENT)
    assert _seconds_to_wait(user.email, "203.0.113.1") == 15 * 60


@pytest.mark.parametrize(
    ("first", "second", "are_one"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("unknown", "unknown", True),
    ],
)
def test_an_ipv6_network_of_one_customer_counts_as_one_address(
    first: str, second: str, *, are_one: bool
) -> None:
    for _ in range(PAIR_LIMIT):
        SignInAttempt.begin("ada@example.com", first)
    if are_one:
        assert _seconds_to_wait("ada@example.com", second) > 0
    else:
        SignInAttempt.begin("ada@example.com", second)


def test_an_address_cannot_try_one_email_after_another_for_ever(clock: Clock) -> None:
    assert clock.at
    for count in range(ADDRESS_LIMIT):
        SignInAttempt.begin(f"person-{count}@example.com", ADDRESS)
    assert _seconds_to_wait("one-more@example.com", ADDRESS) == 15 * 60


def test_signing_in_resets_the_attempts_of_its_email_and_address_only(user: User) -> None:
    SignInAttempt.begin("nobody@example.com", ADDRESS)
    SignInAttempt.begin(user.email, "192.0.2.2")
    for _ in range(PAIR_LIMIT * 2):
        sign_in(user.email, PASSWORD, CLIENT)
    # Two attempts of three rows are left.
    assert SignInAttempt.select().count() == 6


def test_sessions_and_attempts_are_removed_after_a_day(clock: Clock, user: User) -> None:
    UserSession.begin(user)
    SignInAttempt.begin(user.email, ADDRESS)
    clock.advance(hours=23)
    remove_old()
    assert (UserSession.select().count(), SignInAttempt.select().count()) == (1, 3)
    clock.advance(hours=2)
    remove_old()
    assert (UserSession.select().count(), SignInAttempt.select().count()) == (0, 0)


@pytest.fixture(autouse=True)
def _database(state: Stored) -> None:
    assert state.environment

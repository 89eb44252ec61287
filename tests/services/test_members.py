"""Members of an account: invitations by mail, people with several accounts, and users who leave."""

from collections.abc import Callable
from functools import partial

import pytest

from models import database
from models.accounts import two_factor
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation, LinkClosedError
from models.accounts.password import PasswordReset, replace_password
from models.accounts.sign_in import Client, Entry, PendingSignIn, Step, sign_in, switch
from models.accounts.two_factor import RECOVERY_CODES, RecoveryCode
from models.accounts.user import EmailTakenError, LastOwnerError, Role, User, hash_password
from models.accounts.user_session import (
    MAIL_ACCOUNT_LIMIT,
    MAIL_PAIR_LIMIT,
    PROOF_LIMIT,
    SignInAttempt,
    TooManyAttemptsError,
    UserSession,
)
from models.database import writing
from models.errors import ConflictError
from services import mailing, members
from tests import factories
from tests.conftest import Clock, Configure
from tests.mail_server import MailServer
from tests.people import PASSWORD, app_code, elsewhere, enrol, member, with_two_factor
from webhooks.mail import MailError

CLIENT = Client("192.0.2.1", "Firefox on Linux", "visitor")
EMAIL, OWN = "guest@example.com", "a password of one's own"


@pytest.fixture
def owner(account: Account) -> User:
    """The account's owner."""
    return member(account, Role.OWNER)


def _found(mail: MailServer) -> Invitation:
    """The invitation in the newest mail."""
    found = Invitation.find(mail.link.rpartition("/")[2])
    assert found is not None
    return found


def _user_of(token: str | None) -> User:
    session = UserSession.resume(token or "")
    assert session is not None
    user: User = session.user
    return user


def test_an_invitation_goes_to_the_mailbox_and_creates_a_user_once(
    owner: User, mail: MailServer
) -> None:
    invited = members.invite(owner, "Guest@Example.com", Role.AGENT).id
    assert mail.subjects == [(EMAIL, "[Messaging Gateway] Invitation to Acme")]
    found = _found(mail)
    user = _user_of(members.join_new(found, OWN, CLIENT))
    assert (user.email, user.role, user.account_id) == (EMAIL, Role.AGENT, owner.account_id)
    assert User.authenticate(EMAIL, OWN) == [user]
    with pytest.raises(LinkClosedError):
        members.join_new(found, OWN, CLIENT)
    assert [(row.action, row.subject, row.address) for row in Audit.all(owner.account_id)] == [
        ("user.invited", invited, ""),
        (members.ACCEPTED, user.id, CLIENT.address),
        ("session.begun", None, CLIENT.address),
    ]


def test_an_invitation_that_expires_while_it_is_accepted_lets_nobody_in(
    owner: User, mail: MailServer, clock: Clock
) -> None:
    members.invite(owner, EMAIL, Role.AGENT)
    found = _found(mail)
    clock.advance(days=7)
    with pytest.raises(LinkClosedError):
        members.join_new(found, OWN, CLIENT)
    assert User.person(EMAIL) == []


def test_users_and_open_invitations_have_the_limit_of_the_plan(
    configure: Configure, owner: User, mail: MailServer, clock: Clock
) -> None:
    configure(USER_LIMITS=f"{owner.account.plan}=3")
    for name in ("a", "b"):
        members.invite(owner, f"{name}@example.com", Role.AGENT)
    for add in (
        lambda: members.invite(owner, "c@example.com", Role.AGENT),
        lambda: members.create(owner.account, "c@example.com", OWN),
    ):
        with pytest.raises(ConflictError, match="GATEWAY_USER_LIMITS"):
            add()
    # The same person again takes no other place.
    members.invite(owner, "B@example.com", Role.VIEWER)
    assert _user_of(members.join_new(_found(mail), OWN, CLIENT)).email == "b@example.com"
    with pytest.raises(ConflictError):
        members.invite(owner, "c@example.com", Role.AGENT)
    # An expired invitation takes none.
    clock.advance(days=7)
    members.invite(owner, "c@example.com", Role.AGENT)


def test_users_stay_when_the_limit_is_lowered_and_nobody_joins(
    configure: Configure, owner: User, mail: MailServer
) -> None:
    members.invite(owner, EMAIL, Role.AGENT)
    found = _found(mail)
    configure(USER_LIMITS=f"{owner.account.plan}=1")
    with pytest.raises(ConflictError):
        members.join_new(found, OWN, CLIENT)
    assert [user.id for user in User.all(owner.account_id)] == [owner.id]
    # The link works once there is a place.
    configure(USER_LIMITS=f"{owner.account.plan}=2")
    assert _user_of(members.join_new(found, OWN, CLIENT)).email == EMAIL


def test_a_second_invitation_closes_the_first_once_its_mail_is_sent(
    owner: User, mail: MailServer
) -> None:
    members.invite(owner, EMAIL, Role.AGENT)
    first = _found(mail)
    mail.refused.add(EMAIL)
    with pytest.raises(MailError):
        members.invite(owner, EMAIL, Role.VIEWER)
    assert Invitation.pending(owner.account_id) == [first]
    mail.refused.clear()
    second = members.invite(owner, EMAIL, Role.VIEWER)
    assert Invitation.pending(owner.account_id) == [second]


def test_a_withdrawn_invitation_lets_nobody_in(owner: User, mail: MailServer) -> None:
    row = members.invite(owner, EMAIL, Role.AGENT)
    found = _found(mail)
    with writing():
        row.delete_instance()
    with pytest.raises(LinkClosedError):
        members.join_new(found, OWN, CLIENT)


@pytest.mark.parametrize(
    "email", ["a,b@example.com", "<b@example.com>", "a@b@c", "a b@example.com"]
)
def test_a_mail_has_one_recipient(mail: MailServer, email: str) -> None:
    with pytest.raises(MailError):
        mailing.send(email, "T", "S")
    assert mail.mails == []


def test_an_address_gets_few_mails_a_day_from_an_account(
    owner: User, mail: MailServer, clock: Clock
) -> None:
    for _ in range(MAIL_PAIR_LIMIT):
        members.invite(owner, EMAIL, Role.AGENT)
    with pytest.raises(TooManyAttemptsError):
        members.invite(owner, EMAIL.upper(), Role.AGENT)
    members.invite(owner, "another@example.com", Role.AGENT)
    other = member(Account.open("Other", "pro"), Role.OWNER, "stranger")
    # Otherwise an account could find out, or prevent, that others invite an address.
    members.invite(other, EMAIL, Role.AGENT)
    clock.advance(days=1)
    members.invite(owner, EMAIL, Role.AGENT)
    assert len(mail.mails) == MAIL_PAIR_LIMIT + 3


def test_password_links_count_as_mails(account: Account, mail: MailServer) -> None:
    user = member(account, Role.AGENT)
    for _ in range(MAIL_PAIR_LIMIT):
        members.send_password_link(user)
    with pytest.raises(TooManyAttemptsError):
        members.send_password_link(user)
    assert {to for to, _ in mail.subjects} == {user.email}
    assert PasswordReset.find(mail.link.rpartition("/")[2]) is not None


def test_an_account_sends_a_bounded_number_of_mails_a_day(account: Account, clock: Clock) -> None:
    assert clock.at
    for count in range(MAIL_ACCOUNT_LIMIT):
        SignInAttempt.begin_mail(account.id, f"guest-{count}@example.com")
    with pytest.raises(TooManyAttemptsError):
        SignInAttempt.begin_mail(account.id, EMAIL)


def test_without_a_mail_server_nobody_is_invited(owner: User, configure: Configure) -> None:
    configure(SMTP_URL="")
    with pytest.raises(MailError):
        members.invite(owner, EMAIL, Role.AGENT)
    assert Invitation.select().count() == 0


def test_an_invitation_shows_nothing_of_other_accounts(owner: User, mail: MailServer) -> None:
    enrol(Account.open("Other", "pro"), "known@example.com")
    rows = [members.invite(owner, f"{name}@example.com", Role.AGENT) for name in ("known", "new")]
    assert [row.email for row in rows] == ["known@example.com", "new@example.com"]
    texts = [each.get_content().replace(each["To"], "") for each in mail.mails]
    assert len({text[: text.index("http")] for text in texts}) == 1


def test_the_account_s_own_user_is_not_invited(account: Account, owner: User) -> None:
    member(account, Role.AGENT)
    with pytest.raises(EmailTakenError):
        members.invite(owner, "AGENT@example.com", Role.VIEWER)
    with pytest.raises(EmailTakenError):
        enrol(account, "AGENT@example.com")


@pytest.mark.parametrize("is_suspended", [False, True])
def test_a_known_person_joins_with_their_password_and_keeps_it(
    owner: User, mail: MailServer, *, is_suspended: bool
) -> None:
    """A suspended account does not keep its people from others."""
    first = enrol(Account.open("Other", "pro"), EMAIL)
    if is_suspended:
        first.account.suspend()
    members.invite(owner, EMAIL, Role.VIEWER)
    found = _found(mail)
    with pytest.raises(EmailTakenError):
        members.join_new(found, OWN, CLIENT)
    assert members.join_known(found, OWN, "", CLIENT) is None
    user = _user_of(members.join_known(found, PASSWORD, "", CLIENT))
    assert user.account_id == owner.account_id
    assert user in User.authenticate(EMAIL, PASSWORD)
    assert len(User.person(EMAIL)) == 2


def test_a_known_person_with_two_factor_joins_with_a_code(
    owner: User, mail: MailServer, clock: Clock
) -> None:
    first = enrol(Account.open("Other", "pro"), EMAIL)
    with_two_factor(first)
    clock.advance(minutes=1)
    members.invite(owner, EMAIL, Role.VIEWER)
    found = _found(mail)
    for code in ("", "000000"):
        assert members.join_known(found, PASSWORD, code, CLIENT) is None
    user = _user_of(members.join_known(found, PASSWORD, app_code(first), CLIENT))
    assert user.has_two_factor
    assert app_code(user) == app_code(first)


def test_a_code_is_guessed_ten_times_from_all_addresses(
    owner: User, mail: MailServer, clock: Clock
) -> None:
    with_two_factor(enrol(Account.open("Other", "pro"), EMAIL))
    clock.advance(minutes=1)
    members.invite(owner, EMAIL, Role.VIEWER)
    found = _found(mail)
    for number in range(PROOF_LIMIT):
        client = Client(f"192.0.2.{number}")
        assert members.join_known(found, PASSWORD, "000000", client) is None
    with pytest.raises(TooManyAttemptsError):
        members.join_known(found, PASSWORD, "000000", Client("192.0.2.99"))


def test_one_of_two_concurrent_acceptances_succeeds(owner: User, mail: MailServer) -> None:
    members.invite(owner, EMAIL, Role.AGENT)
    found = _found(mail)
    results = factories.at_once(*[lambda: _has_joined(found)] * 4)
    assert sorted(results) == [False, False, False, True]
    assert len(User.person(EMAIL)) == 1


def test_a_new_person_who_joins_two_accounts_at_once_has_one_password(mail: MailServer) -> None:
    for name in ("one", "two"):
        inviter = member(Account.open(name, "pro"), Role.OWNER, name)
        members.invite(inviter, EMAIL, Role.AGENT)
    invitations = Invitation.all()
    assert len(invitations) == len(mail.mails) == 2
    for row in invitations:
        row.account = Account.get_by_id(row.account_id)
    results = factories.at_once(*(lambda row=row: _has_joined(row) for row in invitations))
    assert sorted(results) == [False, True]


def _has_joined(found: Invitation) -> bool:
    try:
        return bool(members.join_new(found, OWN, CLIENT))
    except (LinkClosedError, EmailTakenError):
        return False


def _entry(needs: Step | None) -> Entry:
    entry = sign_in(EMAIL, PASSWORD, CLIENT)
    assert entry is not None
    assert entry.needs == needs
    return entry


def test_a_person_with_several_accounts_chooses_one(account: Account) -> None:
    here = enrol(account, EMAIL)
    assert _user_of(_entry(None).token) == here
    there, suspended = elsewhere(here), elsewhere(here, "Third")
    Account.get_by_id(suspended.account_id).suspend()
    stranger = member(account, Role.OWNER, "stranger")
    UserSession.delete().execute()
    pending = PendingSignIn.find(_entry(Step.ACCOUNT).token, CLIENT.visitor, Step.ACCOUNT)
    assert pending is not None
    assert pending.choices() == [here, there]
    assert pending.finish("", CLIENT) is None
    for other in (suspended, stranger):
        assert pending.choose(other.id, CLIENT) is None
    assert UserSession.select().count() == 0
    assert _user_of(pending.choose(there.id, CLIENT)) == there
    assert pending.choose(here.id, CLIENT) is None


def test_the_code_comes_before_the_choice(account: Account, clock: Clock) -> None:
    here = enrol(account, EMAIL)
    elsewhere(here)
    with_two_factor(here)
    clock.advance(minutes=1)
    token = _entry(Step.CODE).token
    assert PendingSignIn.find(token, CLIENT.visitor, Step.ACCOUNT) is None
    pending = PendingSignIn.find(token, CLIENT.visitor, Step.CODE)
    assert pending is not None
    entry = pending.finish(app_code(here), CLIENT)
    assert entry is not None
    assert entry.needs == Step.ACCOUNT
    assert PendingSignIn.find(entry.token, CLIENT.visitor, Step.ACCOUNT) is not None


def test_a_switch_ends_the_session_and_does_not_prolong_it(account: Account, clock: Clock) -> None:
    here = enrol(account, EMAIL)
    there, stranger = elsewhere(here), member(account, Role.OWNER, "stranger")
    first = UserSession.resume(UserSession.begin(here))
    assert first is not None
    assert first.has_others
    clock.advance(hours=1)
    assert switch(first, stranger.id, CLIENT) is None
    token = switch(first, there.id, CLIENT)
    assert _user_of(token) == there
    assert UserSession.by_id(first.id) is None
    assert switch(first, here.id, CLIENT) is None
    # It is used all the time.
    sessions = []
    for _ in range(33):
        clock.advance(minutes=20)
        sessions.append(UserSession.resume(token or ""))
    assert [session is None for session in sessions] == [False] * 32 + [True]


def test_a_person_with_one_account_has_no_others(account: Account) -> None:
    member(account, Role.OWNER)
    session = UserSession.resume(UserSession.begin(enrol(account, EMAIL)))
    assert session is not None
    assert not session.has_others


def test_a_new_password_is_the_person_s_and_ends_all_their_sessions(account: Account) -> None:
    here = enrol(account, EMAIL)
    there, stranger = elsewhere(here), member(account, Role.OWNER, "stranger")
    tokens = [UserSession.begin(each) for each in (here, there, stranger)]
    replace_password(there, hash_password(OWN, there.email))
    assert [UserSession.resume(token) is None for token in tokens] == [True, True, False]
    assert User.authenticate(EMAIL, OWN) == [here, there]
    assert not User.authenticate(EMAIL, PASSWORD)
    assert User.authenticate(stranger.email, PASSWORD) == [stranger]


def test_the_second_factor_is_the_person_s(account: Account, clock: Clock) -> None:
    here = enrol(account, EMAIL)
    there, stranger = elsewhere(here), member(account, Role.OWNER, "stranger")
    [code, other, *_] = with_two_factor(here)
    clock.advance(minutes=1)
    assert User.get_by_id(there.id).has_two_factor
    assert not User.get_by_id(stranger.id).has_two_factor
    assert two_factor.accept(there, app_code(here))
    assert not two_factor.accept(here, app_code(here))
    assert two_factor.accept(there, code)
    assert not two_factor.accept(here, code)
    assert len(RecoveryCode.of(there)) == RECOVERY_CODES - 1
    two_factor.turn_off(there)
    assert not User.get_by_id(here.id).has_two_factor
    assert not two_factor.accept(here, other)


def test_recovery_codes_outlive_the_user_that_got_them(account: Account) -> None:
    here = enrol(account, EMAIL)
    there, third = elsewhere(here), elsewhere(here, "Third")
    codes = with_two_factor(here)
    members.remove(here)
    assert two_factor.accept(there, codes[0])
    members.remove(there)
    assert two_factor.accept(third, codes[1])
    assert len(RecoveryCode.of(third)) == RECOVERY_CODES - 2
    members.remove(third)
    assert RecoveryCode.select().count() == 0


def test_a_removed_user_keeps_the_other_accounts(account: Account) -> None:
    here = enrol(account, EMAIL)
    there = elsewhere(here)
    tokens = [UserSession.begin(each) for each in (here, there)]
    members.remove(here)
    assert [UserSession.resume(token) is None for token in tokens] == [True, False]
    assert _user_of(_entry(None).token) == there


def test_a_person_keeps_their_password_when_the_first_user_is_removed(account: Account) -> None:
    here = enrol(account, EMAIL)
    there = members.create(Account.open("Other", "pro"), EMAIL, OWN)
    members.remove(here)
    assert User.authenticate(EMAIL, PASSWORD) == [there]
    assert User.authenticate(EMAIL, OWN) == []


def test_a_wrong_password_costs_the_same_for_any_number_of_accounts(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One hash and as many statements, so the response time reveals nothing."""
    elsewhere(enrol(account, "two@example.com"))
    enrol(account, "one@example.com")
    work: list[str] = []

    def is_hash_of(_password: str, _hashed: str) -> bool:
        work.append("hash")
        return False

    monkeypatch.setattr("models.accounts.user._is_hash_of", is_hash_of)
    kind = type(database.database.obj)
    for name in ("put", "fetch", "execute_sql"):
        _count(monkeypatch, kind, name, work)
    costs = []
    for count, name in enumerate(("two", "one", "none")):
        work.clear()
        assert sign_in(f"{name}@example.com", "wrong", Client(f"192.0.2.{count}")) is None
        costs.append(sorted(work))
    assert costs[0].count("hash") == 1
    assert costs == [costs[0]] * 3
    assert Audit.select().where(Audit.action == "session.refused").count() == 3


def _count(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, work: list[str]) -> None:
    run: Callable[..., object] = getattr(kind, name)

    def counted(self: object, *given: object, **named: object) -> object:
        work.append(name)
        return run(self, *given, **named)

    monkeypatch.setattr(kind, name, counted)


def test_the_last_owner_stays_an_owner(account: Account, owner: User) -> None:
    other = member(account, Role.AGENT)
    for action in (partial(members.dismiss, owner), partial(owner.become, Role.AGENT)):
        with pytest.raises(LastOwnerError):
            action()
    owner.become(Role.OWNER)
    other.become(Role.OWNER)
    owner.become(Role.VIEWER)
    assert User.owners(account.id) == [other]


def test_one_of_two_owners_who_remove_each_other_remains(account: Account) -> None:
    both = [member(account, Role.OWNER, name) for name in ("one", "two")]
    results = factories.at_once(*(lambda user=user: _is_dismissed(user) for user in both))
    assert sorted(results) == [False, True]
    assert len(User.owners(account.id)) == 1


def _is_dismissed(user: User) -> bool:
    try:
        members.dismiss(user)
    except LastOwnerError:
        return False
    return True

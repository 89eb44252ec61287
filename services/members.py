"""Members of an account: the users, how a person becomes one, and how a user leaves.

Links that let a person in go by mail to the person's address and are shown nowhere else. So only somebody who
reads the mailbox can join. No result depends on the accounts that the person has elsewhere.
"""

from gateway.settings import PREFIX, get_settings
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation, spend
from models.accounts.password import PasswordReset
from models.accounts.sign_in import Client, enter, prove
from models.accounts.two_factor import RecoveryCode
from models.accounts.user import EmailTakenError, Role, User, hash_password, normalise
from models.accounts.user_session import SignInAttempt
from models.database import writing
from models.errors import ConflictError, RateLimitedError
from services import mailing
from services.credentials import report_refused_code
from services.fair_share import Share
from webhooks.mail import MailError

ACCEPTED = "invitation.accepted"
# A mail server that hangs holds few threads of the web process.
MAILS = Share("mails", 2)


def create(
    account: Account,
    email: str,
    password: str,
    role: Role = Role.OWNER,
    *,
    is_initial: bool = False,
) -> User:
    """Create a user. A person who is known keeps their password. One that ``is_initial`` expires.

    Raises EmailTakenError, ConflictError or WeakPasswordError.

    The caller answers for the person's address.
    """
    # Hash before the transaction, so that no writer waits for it.
    hashed = hash_password(password, email)
    with writing():
        user = _add(account, email, hashed, role, is_initial=is_initial)
        Audit.record(account.id, "user.created", user.id, after=user.described)
    return user


def invite(inviter: User, email: str, role: Role) -> Invitation:
    """Mail a person an invitation to the account of the user, in which it replaces an earlier one.

    Raises EmailTakenError if the account has the person, ConflictError if it has too many users,
    TooManyAttemptsError, RateLimitedError or MailError.
    """
    account = Account.get_by_id(inviter.account_id)
    with writing():
        _require_place(account, email)
        SignInAttempt.begin_mail(account.id, email)
        row, token = Invitation.open(account, email, role)
    text = (
        f"{inviter.email} invites you to the account {account.name}, as {role}. Accept within seven days:"
        f"\n\n{_url('invitation', token)}\n\n"
        "If you do not expect this invitation, ignore it. You are in no account without your consent."
    )
    try:
        with MAILS.of(account.id):
            mailing.send(row.email, f"Invitation to {account.name}", text)
    except (MailError, RateLimitedError):
        # An earlier invitation stays.
        with writing():
            row.delete_instance()
        raise
    with writing():
        row.replace_earlier()
        Audit.record(account.id, "user.invited", row.id, after=row.described)
    return row


def send_password_link(user: User) -> None:
    """Mail a user a link to choose another password.

    Raises TooManyAttemptsError, RateLimitedError or MailError.
    """
    with writing():
        SignInAttempt.begin_mail(user.account_id, user.email)
        token = PasswordReset.open(user)
    text = (
        "An owner of your account sends you this link. Choose another password within 24 hours:"
        f"\n\n{_url('password', token)}\n\nUntil you use it, your password stays the same."
    )
    try:
        with MAILS.of(user.account_id):
            mailing.send(user.email, "Choose another password", text)
    except (MailError, RateLimitedError):
        PasswordReset.end_all(user)
        raise
    Audit.record(user.account_id, "user.reset_link_created", user.id, after={"email": user.email})


def join_new(invitation: Invitation, password: str, client: Client) -> str:
    """Create the user of a person who has none, and sign in. Returns the session's token.

    Raises LinkClosedError, WeakPasswordError, or EmailTakenError if the person has a user meanwhile.
    """
    hashed = hash_password(password, invitation.email)
    with writing():
        spend(invitation, invitation.expires_at)
        if User.person(invitation.email):
            # This password is not the person's.
            raise EmailTakenError(invitation.email)
        return _join(invitation, hashed, client)


def join_known(invitation: Invitation, password: str, code: str, client: Client) -> str | None:
    """Create another user of a person, who proves password and second factor, and sign in.

    Returns the session's token, or None if password or code are wrong. Raises LinkClosedError or
    TooManyAttemptsError.
    """
    known = prove(invitation.email, password, code, client)
    if not known:
        for user in User.person(invitation.email)[:1]:
            report_refused_code(user, code, client.address)
        return None
    with writing():
        spend(invitation, invitation.expires_at)
        return _join(invitation, known[0].password_hash, client)


def dismiss(user: User) -> None:
    """Remove a user like ``remove``. Raises LastOwnerError."""
    with writing():
        user.check_an_owner_stays()
        remove(user)


def remove(user: User) -> None:
    """Remove a user, which ends their sessions in this account. Other users of the person stay."""
    with writing():
        RecoveryCode.hand_over(user)
        user.delete_instance()
        Audit.record(user.account_id, "user.removed", user.id, before=user.described)


def _join(invitation: Invitation, hashed: str, client: Client) -> str:
    user = _add(invitation.account, invitation.email, hashed, Role(invitation.role))
    by, after = user.actor(client.address), {"role": user.role}
    Audit.record(user.account_id, ACCEPTED, user.id, after=after, by=by)
    return enter(user, client)


def _add(
    account: Account, email: str, hashed: str, role: Role, *, is_initial: bool = False
) -> User:
    """Create a user: every way into an account ends here. Raises EmailTakenError or ConflictError."""
    with writing():
        _require_place(account, email)
        return User.enrol_hashed(account, email, hashed, role, is_initial=is_initial)


def _require_place(account: Account, email: str) -> None:
    """Raise ConflictError unless the plan of the account allows this user too. In a transaction.

    Open invitations count, except those of the same person. Users stay when the limit is lowered.
    """
    limit = get_settings().user_limits[account.plan]
    users, invited = User.all(account.id), Invitation.pending(account.id)
    emails = {user.email for user in users} | {row.email for row in invited}
    count = len(emails - {normalise(email)})
    if count >= limit:
        raise ConflictError(
            f"This account has {count} users and open invitations, and the plan {account.plan} allows"
            f" {limit}. Remove one, or ask the operator to raise the limit ({PREFIX}USER_LIMITS)."
        )


def _url(kind: str, token: str) -> str:
    return f"{get_settings().public_url}/dashboard/{kind}/{token}"

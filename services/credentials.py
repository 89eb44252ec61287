"""Passwords and second factors of users: their checks, new ones, and mails about what happened to them."""

from gateway.settings import get_settings
from models import clock
from models.accounts import two_factor
from models.accounts.account import Account
from models.accounts.known_device import KnownDevice
from models.accounts.mail import Mail, Purpose
from models.accounts.password import PasswordReset, replace_password
from models.accounts.sign_in import Client
from models.accounts.user import User, hash_password, record_attempt
from models.accounts.user_session import CODE, PASSWORD, SignInAttempt, UserSession
from models.database import writing
from services import mailing

PASSWORD_CHANGED = "Your password was changed"  # noqa: S105 - a title
# Who made a change, where it is not the address of a client.
OPERATOR = "the operator"
# In a day, to one user. Somebody who knows the password could cause more.
MOST = 10
NEW_DEVICE = "A new device signed in"
CODE_REUSED = "A used code of your authenticator app was entered again"
REUSED = "session.code_reused"
_TEXT = """{title}: {email}, in the account {account}.

When: {at}
By: {by}

If this was you, you need not do anything. If not, change your password and end all other sessions at
{url}/dashboard/you, and tell an owner of the account.
"""


def change_password(
    user: User, password: str, by: str, keep: str | None = None, *, is_initial: bool = False
) -> None:
    """Set another password, and end all sessions but the one to keep. One that ``is_initial`` expires.

    Raises WeakPasswordError.
    """
    # Hash before the transaction, so that no writer waits for it.
    hashed = hash_password(password, user.email)
    with writing():
        replace_password(user, hashed, keep, is_initial=is_initial)
        _tell(user, PASSWORD_CHANGED, by)


def reset_password(link: PasswordReset, password: str, address: str) -> None:
    """Set the password by a link, and end every session. Raises LinkClosedError or WeakPasswordError."""
    hashed = hash_password(password, link.user.email)
    with writing():
        _tell(link.use(hashed, address), PASSWORD_CHANGED, address)


def turn_on_two_factor(user: User, code: str, by: str) -> list[str] | None:
    """Turn it on with the app's first code. Returns the recovery codes, or None for a wrong code."""
    with writing():
        codes = two_factor.turn_on(user, code)
        if codes is not None:
            _tell(user, "Two-factor authentication was turned on", by)
        return codes


def turn_off_two_factor(user: User, by: str) -> None:
    """Turn it off."""
    with writing():
        two_factor.turn_off(user)
        _tell(user, "Two-factor authentication was turned off", by)


def knows_password(user: User, typed: str, address: str, *, or_code: bool = False) -> bool:
    """Whether it is the user's password, or with ``or_code`` a code of the second factor.

    Wrong ones from a client address count like those of a sign-in. Raises TooManyAttemptsError.
    """
    SignInAttempt.begin(user.email, address)
    # A stolen session must not guess from many addresses.
    SignInAttempt.begin_proof(user, PASSWORD)
    may_be_code = or_code and user.has_two_factor
    if not (user.has_password(typed) or (may_be_code and knows_code(user, typed, address))):
        return False
    SignInAttempt.forget_proof(user, PASSWORD)
    SignInAttempt.forget(user.email, address)
    return True


def knows_code(user: User, code: str, address: str) -> bool:
    """Whether it is a code of the user's second factor, which is then used up.

    Raises TooManyAttemptsError.
    """
    SignInAttempt.begin_proof(user, CODE)
    if not two_factor.accept(user, code):
        report_refused_code(user, code, address)
        return False
    SignInAttempt.forget_proof(user, CODE)
    return True


def prove(session: UserSession, typed: str, address: str) -> bool:
    """Record that the user gave the password, or a code of the second factor. Returns False if it is wrong.

    Raises TooManyAttemptsError.
    """
    is_proven = knows_password(session.user, typed, address, or_code=True)
    if is_proven:
        session.amend(proved_at=clock.now())
    return is_proven


def _tell(user: User, title: str, by: str) -> None:
    """Queue a mail about a change, in its transaction. ``by`` is who made it, such as a client's address."""
    if not mailing.is_possible():
        return
    with writing():
        if Mail.count(Purpose.SECURITY, address=user.email) < MOST:
            text = _TEXT.format(
                title=title,
                email=user.email,
                account=Account.get_by_id(user.account_id).name,
                at=clock.timestamp(clock.now()),
                by=by,
                url=get_settings().public_url,
            )
            Mail.queue(user.account_id, Purpose.SECURITY, user.email, title, text)


def report_refused_code(user: User, code: str, address: str) -> None:
    """Tell the user and the audit log if a refused code was right, but used: somebody may have read it."""
    if two_factor.is_used(user, code):
        with writing():
            record_attempt(User.person(user.email), REUSED, address)
            _tell(user, CODE_REUSED, address)


def recognise(user: User, client: Client, token: str | None) -> str:
    """The token of the browser in which a user has signed in. If it is new, the user gets a mail."""
    with writing():
        token, is_new = KnownDevice.recognise(user, token)
        if is_new:
            _tell(user, NEW_DEVICE, f"{client.browser}, {client.address}")
    return token

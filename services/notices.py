"""Tells users by mail of what others may have done: sign-ins, used codes, new passwords or factors."""

from gateway.settings import get_settings
from models import clock
from models.accounts import two_factor
from models.accounts.account import Account
from models.accounts.known_device import KnownDevice
from models.accounts.mail import Mail, Purpose
from models.accounts.sign_in import Client
from models.accounts.user import User, record_attempt
from models.database import writing
from services import mailing

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


def tell(user: User, title: str, by: str) -> None:
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
            tell(user, CODE_REUSED, address)


def recognise(user: User, client: Client, token: str | None) -> str:
    """The token of the browser in which a user has signed in. If it is new, the user gets a mail."""
    with writing():
        token, is_new = KnownDevice.recognise(user, token)
        if is_new:
            tell(user, NEW_DEVICE, f"{client.browser}, {client.address}")
    return token

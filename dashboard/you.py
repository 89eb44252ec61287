"""/dashboard/you: the user's own password, sessions and two-factor authentication."""

from flask import Response, g, request

from dashboard import guard
from dashboard.guard import ALL, account
from dashboard.signing_in import WRONG_CODE
from dashboard.single_use_links import new_password
from dashboard.site import FormError, blueprint, existing, go, show
from models.accounts import totp
from models.accounts import two_factor as factor
from models.accounts.user import User
from models.accounts.user_session import UserSession
from services import credentials
from services.credentials import knows_code, knows_password

PATH = "/dashboard/you"
TWO_FACTOR = f"{PATH}/two-factor"
WRONG = "The current password is wrong."
REQUIRED = "This account requires two-factor authentication of its users."


@blueprint.page("/you", ALL)
def you() -> Response:
    """The user's role, the password form and the sessions."""
    return show("you.html", sessions=UserSession.of(_me()), present=g.session.id)


@blueprint.action("/you", ALL, "user.password_changed")
def change_own_password() -> Response:
    """Change the password, and end all other sessions."""
    password = new_password()
    _check_password()
    credentials.change_password(_me(), password, guard.address(), keep=g.session.id)
    return go(PATH, say="password-changed")


@blueprint.action(
    "/you/sessions/<session_id>/revoke", ALL, "session.revoked", form="you", needs_proof=True
)
def revoke_session(session_id: str) -> Response:
    """End one of the person's sessions."""
    row = existing(next((row for row in UserSession.of(_me()) if row.id == session_id), None))
    row.close("session.revoked")
    return go(PATH, say="session-revoked")


@blueprint.action(
    "/you/sessions/revoke", ALL, "session.others_revoked", form="you", needs_proof=True
)
def revoke_other_sessions() -> Response:
    """End all sessions of the person except this one."""
    UserSession.close_others(_me(), g.session.id)
    return go(PATH, say="sessions-revoked")


@blueprint.page("/you/two-factor", ALL)
def two_factor() -> Response:
    """The state of two-factor authentication, or the secret during the setup."""
    secret = factor.pending_secret(_me())
    address = totp.address_of(secret, _me().email) if secret else ""
    left = len(factor.RecoveryCode.of(_me()))
    return show("two_factor.html", secret=secret, address=address, left=left)


@blueprint.action("/you/two-factor/secret", ALL, "two_factor.set_up")
def set_up_two_factor() -> Response:
    """Create a secret, which has no effect before its first code."""
    factor.set_up(_me())
    return go(TWO_FACTOR)


@blueprint.action("/you/two-factor", ALL, "two_factor.enabled")
def turn_on_two_factor() -> Response:
    """Turn it on with password and code, end all other sessions, and show the recovery codes once.

    The password is required, so that a person at an open browser cannot lock its user out.
    """
    _check_password()
    codes = credentials.turn_on_two_factor(_me(), _code(), guard.address())
    if codes is None:
        raise FormError(WRONG_CODE)
    UserSession.end_all(_me(), but=g.session.id)
    return show("recovery_codes.html", codes=codes)


@blueprint.page("/you/two-factor/off", ALL)
def two_factor_off() -> Response:
    """The form for password and code."""
    return show("two_factor_off.html")


@blueprint.action("/you/two-factor/off", ALL, "two_factor.disabled")
def turn_off_two_factor() -> Response:
    """Turn it off, unless the account requires it."""
    if account().two_factor_since is not None:
        raise FormError(REQUIRED, 409)
    _check_password()
    _check_code()
    credentials.turn_off_two_factor(_me(), guard.address())
    return go(TWO_FACTOR, say="two-factor-off")


def _me() -> User:
    """The user of the session."""
    found: User = g.session.user
    return found


def _check_password() -> None:
    """Check the form's current password. Raises TooManyAttemptsError or FormError."""
    if not knows_password(_me(), request.form.get("present", ""), guard.address()):
        raise FormError(WRONG)


def _check_code() -> None:
    """Limited like a password: a stolen session and password must not allow guessing the code."""
    if not knows_code(_me(), _code(), guard.address()):
        raise FormError(WRONG_CODE)


def _code() -> str:
    return request.form.get("code", "")[:100]

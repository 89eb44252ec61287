"""Signing in to the dashboard: throttled, and as slow for an unknown email as for a wrong password."""

from models.sign_in_attempt import SignInAttempt
from models.user import MAX_PASSWORD, User
from models.user_session import UserSession


class WrongCredentialsError(Exception):
    """Wrong email or password."""


def sign_in(email: str, password: str, address: str) -> str:
    """Begin a session. Returns its token.

    Raises TooManyAttemptsError or WrongCredentialsError.
    """
    SignInAttempt.begin(email, address)
    # No password is longer, and hashing a megabyte would waste CPU.
    user = User.authenticate(email, password[: MAX_PASSWORD + 1])
    if user is None:
        raise WrongCredentialsError
    SignInAttempt.forget(email, address)
    return UserSession.begin(user)

"""Asks a user who is signed in for the password again."""

from models import clock
from models.accounts import two_factor
from models.accounts.user import User
from models.accounts.user_session import CODE, PASSWORD, SignInAttempt, UserSession
from services.notices import report_refused_code


def knows_password(user: User, password: str, address: str) -> bool:
    """Whether it is the user's. Wrong ones from a client address count like those of a sign-in.

    Raises TooManyAttemptsError.
    """
    return _is_right(user, password, address, is_code_enough=False)


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
    is_proven = _is_right(session.user, typed, address, is_code_enough=True)
    if is_proven:
        session.amend(proved_at=clock.now())
    return is_proven


def _is_right(user: User, typed: str, address: str, *, is_code_enough: bool) -> bool:
    SignInAttempt.begin(user.email, address)
    # A stolen session must not guess from many addresses.
    SignInAttempt.begin_proof(user, PASSWORD)
    may_be_code = is_code_enough and user.has_two_factor
    if not (user.has_password(typed) or (may_be_code and knows_code(user, typed, address))):
        return False
    SignInAttempt.forget_proof(user, PASSWORD)
    SignInAttempt.forget(user.email, address)
    return True

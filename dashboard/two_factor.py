"""/dashboard/you/two-factor: sets up two-factor authentication, and turns it off."""

from flask import Response, g, request

from dashboard.audited_views import unchanged
from dashboard.qr import qr_code
from dashboard.signing_in import WRONG_CODE, explain, too_many
from dashboard.site import blueprint, go, show
from dashboard.you import PATH as YOU
from dashboard.you import me, problem_of_password
from models.accounts import totp
from models.accounts import two_factor as factor
from models.accounts.user_session import CODE, SignInAttempt, TooManyAttemptsError, UserSession

PATH = f"{YOU}/two-factor"


@blueprint.get("/you/two-factor")
def two_factor() -> Response:
    """The state of two-factor authentication, or the secret during the setup."""
    return _page()


@blueprint.post("/you/two-factor/secret")
def set_up_two_factor() -> Response:
    """Create a secret, which has no effect before its first code."""
    if me().has_two_factor:
        unchanged()
    factor.set_up(me())
    return go(PATH)


@blueprint.post("/you/two-factor")
def turn_on_two_factor() -> Response:
    """Turn it on with password and code, end all other sessions, and show the recovery codes once.

    The password is required, so that a person at an open browser cannot lock its user out.
    """
    try:
        if problem := problem_of_password():
            return _page(422, problem)
    except TooManyAttemptsError as error:
        return too_many(error, _page(429, explain(error)))
    codes = factor.turn_on(me(), _code())
    if codes is None:
        return _page(422, WRONG_CODE)
    UserSession.end_all(me(), but=g.session.id)
    return show("recovery_codes.html", codes=codes)


@blueprint.get("/you/two-factor/off")
def two_factor_off() -> Response:
    """The form for password and code."""
    return _off()


@blueprint.post("/you/two-factor/off")
def turn_off_two_factor() -> Response:
    """Turn it off."""
    try:
        problem = problem_of_password() or _problem_of_code()
    except TooManyAttemptsError as error:
        return too_many(error, _off(429, explain(error)))
    if problem:
        return _off(422, problem)
    factor.turn_off(me())
    return go(PATH, say="two-factor-off")


def _problem_of_code() -> str:
    """Limited like a password: a stolen session and password must not allow guessing the code."""
    SignInAttempt.begin_proof(me(), CODE)
    if not factor.accept(me(), _code()):
        return WRONG_CODE
    SignInAttempt.forget_proof(me(), CODE)
    return ""


def _code() -> str:
    return request.form.get("code", "")[:100]


def _page(status: int = 200, problem: str = "") -> Response:
    secret = factor.pending_secret(me())
    address = totp.address_of(secret, me().email) if secret else ""
    return show(
        "two_factor.html",
        status,
        secret=secret,
        qr=qr_code(address, "QR code for an authenticator app") if secret else None,
        left=factor.RecoveryCode.left(me()),
        problem=problem,
    )


def _off(status: int = 200, problem: str = "") -> Response:
    return show("two_factor_off.html", status, problem=problem)

"""Pages behind single-use links: /dashboard/invitation/<token> and /dashboard/password/<token>.

The token is in the path, so that the link works without scripts. The request log has the route instead of the
path, and no other page or host gets the URL (Referrer-Policy). Opening the page does not use up the link,
because link scanners open links as well.
"""

from flask import Response, request

from dashboard import guard
from dashboard.signing_in import client, enter
from dashboard.site import blueprint, go, show
from models.accounts.invitation import Invitation, LinkClosedError
from models.accounts.password import PasswordReset
from models.accounts.sign_in import enter as begin_session
from models.accounts.user import MAX_PASSWORD, MIN_PASSWORD, EmailTakenError

TAKEN = "This email is in use already. Ask an owner of the account to invite another address."


@blueprint.public("/invitation/<token>")
def invitation(token: str) -> Response:
    """The invitation's account and role, and the form for a password."""
    found = Invitation.find(token)
    return _closed() if found is None else _invitation(found)


@blueprint.public("/invitation/<token>", "POST")
def accept_invitation(token: str) -> Response:
    """Create the user, and sign in."""
    found = Invitation.find(token)
    if found is None:
        return _closed()
    if problem := problem_of_new():
        return _invitation(found, 422, problem)
    try:
        user = found.accept(new_password(), guard.address())
    except LinkClosedError:
        return _closed()
    except EmailTakenError:
        return _invitation(found, 409, TAKEN)
    return _unseen(enter(begin_session(user, client()), guard.HOME))


@blueprint.public("/password/<token>")
def password_reset(token: str) -> Response:
    """The form for a new password."""
    found = PasswordReset.find(token)
    return _closed() if found is None else _reset(found)


@blueprint.public("/password/<token>", "POST")
def reset_password(token: str) -> Response:
    """Set the password. The next sign-in asks for the code if two-factor is on."""
    found = PasswordReset.find(token)
    if found is None:
        return _closed()
    if problem := problem_of_new():
        return _reset(found, 422, problem)
    try:
        found.use(new_password(), guard.address())
    except LinkClosedError:
        return _closed()
    return _unseen(go(guard.SIGN_IN, say="password-reset"))


def _invitation(found: Invitation, status: int = 200, problem: str = "") -> Response:
    return _show(
        "choose_password.html",
        status,
        title=f"Join {found.account.name}",
        email=found.email,
        role=found.role,
        action="Create my user",
        problem=problem,
    )


def _reset(found: PasswordReset, status: int = 200, problem: str = "") -> Response:
    return _show(
        "choose_password.html",
        status,
        title="Choose a new password",
        email=found.user.email,
        role=None,
        action="Set password",
        problem=problem,
    )


def _closed() -> Response:
    """The same page for used, expired and unknown links."""
    return _show("link_closed.html", 404)


def _show(template: str, status: int, **values: object) -> Response:
    return _unseen(show(template, status, **values))


def _unseen(response: Response) -> Response:
    """Browsers send this page's origin with forms and redirects, but never its path."""
    response.headers["Referrer-Policy"] = "strict-origin"
    return response


def new_password() -> str:
    """The new password in the form."""
    return request.form.get("password", "")


def problem_of_new() -> str:
    """The error of the form's new password. Empty if it is valid."""
    if not MIN_PASSWORD <= len(new_password()) <= MAX_PASSWORD:
        return f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters."
    return (
        ""
        if new_password() == request.form.get("again")
        else "The two passwords differ. Type the same one twice."
    )

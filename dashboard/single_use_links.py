"""Pages behind single-use links: /dashboard/invitation/<token> and /dashboard/password/<token>.

The token is in the path, so that the link works without scripts. The request log has the route instead of the
path, and no other page or host gets the URL (Referrer-Policy). Opening the page does not use up the link,
because link scanners open links as well.
"""

from typing import TypeVar

from flask import Response, request

from dashboard import guard
from dashboard.signing_in import client, enter
from dashboard.site import FormError, blueprint, go, show
from models.accounts.invitation import Invitation, LinkClosedError
from models.accounts.password import PasswordReset
from models.accounts.sign_in import enter as begin_session
from models.accounts.user import MAX_PASSWORD, MIN_PASSWORD, EmailTakenError

Link = TypeVar("Link")
TAKEN = "This email is in use already. Ask an owner of the account to invite another address."


@blueprint.public("/invitation/<token>")
def invitation(token: str) -> Response:
    """The invitation's account and role, and the form for a password."""
    found = _open(Invitation.find(token))
    return show(
        "choose_password.html",
        title=f"Join {found.account.name}",
        email=found.email,
        role=found.role,
        action="Create my user",
    )


@blueprint.public("/invitation/<token>", "POST")
def accept_invitation(token: str) -> Response:
    """Create the user, and sign in."""
    found = _open(Invitation.find(token))
    try:
        user = found.accept(new_password(), guard.address())
    except EmailTakenError:
        raise FormError(TAKEN, 409) from None
    return enter(begin_session(user, client()), guard.HOME)


@blueprint.public("/password/<token>")
def password_reset(token: str) -> Response:
    """The form for a new password."""
    found = _open(PasswordReset.find(token))
    return show(
        "choose_password.html",
        title="Choose a new password",
        email=found.user.email,
        role=None,
        action="Set password",
    )


@blueprint.public("/password/<token>", "POST")
def reset_password(token: str) -> Response:
    """Set the password. The next sign-in asks for the code if two-factor is on."""
    _open(PasswordReset.find(token)).use(new_password(), guard.address())
    return go(guard.SIGN_IN, say="password-reset")


def _open(link: Link | None) -> Link:
    if link is None:
        raise LinkClosedError
    return link


@blueprint.errorhandler(LinkClosedError)
def show_closed(_error: LinkClosedError) -> Response:
    """The same page for used, expired and unknown links."""
    return show("link_closed.html", 404)


@blueprint.after_request
def hide_token(response: Response) -> Response:
    """Browsers send the origin of these pages with forms and redirects, but never their path."""
    if "token" in (request.view_args or {}):
        response.headers["Referrer-Policy"] = "strict-origin"
    return response


def new_password() -> str:
    """The new password in the form. Raises FormError if it is invalid."""
    password = request.form.get("password", "")
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise FormError(f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters.")
    if password != request.form.get("again"):
        raise FormError("The two passwords differ. Type the same one twice.")
    return password

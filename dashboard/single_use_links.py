"""Pages behind the single-use links of mails: /dashboard/invitation/<token> and /dashboard/password/<token>.

The token is in the path, so that the link works without scripts. The request log has the route instead of the
path, and no other page or host gets the URL (Referrer-Policy). Opening the page does not use up the link,
because link scanners open links as well.
"""

from typing import TypeVar

from flask import Response, request

from dashboard import guard
from dashboard.signing_in import WRONG, client, enter
from dashboard.site import FormError, blueprint, go, show
from models.accounts.invitation import Invitation, LinkClosedError
from models.accounts.password import PasswordReset
from models.accounts.password_strength import (
    MAX_EARLIER,
    MAX_PASSWORD,
    MIN_PASSWORD,
    MIN_SCORE,
    strength_of,
)
from models.accounts.user import EmailTakenError, User
from models.errors import ConflictError
from services import credentials, members
from services.fair_share import Share

Link = TypeVar("Link")
WRONG_PROOF = "Wrong password or code."
TAKEN = "You have a user in this account already. Sign in."
# Checks take CPU time, and no session is needed.
CHECKS = Share("checks of passwords", 1, 4)


@blueprint.public("/invitation/<token>")
def invitation(token: str) -> Response:
    """The invitation's account and role. A new person chooses a password, a known one enters theirs.

    The page shows which, because only the mailbox has the link.
    """
    found = _open(Invitation.find(token))
    known = User.person(found.email)
    return show(
        "join.html" if known else "choose_password.html",
        title=f"Join {found.account.name}",
        email=found.email,
        role=found.role,
        needs_code=any(user.has_two_factor for user in known),
        action="Create my user",
    )


@blueprint.public("/invitation/<token>", "POST")
def accept_invitation(token: str) -> Response:
    """Create the user, and sign in."""
    found = _open(Invitation.find(token))
    try:
        session = _joined(found)
    except EmailTakenError:
        raise FormError(TAKEN, 409) from None
    except ConflictError as error:
        raise FormError(error.message, 409) from None
    return enter(session, guard.HOME)


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
    credentials.reset_password(_open(PasswordReset.find(token)), new_password(), guard.address())
    return go(guard.SIGN_IN, say="password-reset")


@blueprint.public("/password-strength", "POST")
def password_strength() -> Response:
    """The strength of a new password, while it is typed. Raises RateLimitedError."""
    password = request.form.get("password", "")[:MAX_EARLIER]
    with CHECKS.of(guard.address()):
        found = strength_of(password, request.form.get("email", "")[:MAX_EARLIER])
    problem = ""
    if len(password) < MIN_PASSWORD:
        problem = "Too short."
    elif len(password) > MAX_PASSWORD:
        problem = f"Too long: a password has at most {MAX_PASSWORD} characters."
    return show("password_strength.html", found=found, problem=problem, min_score=MIN_SCORE)


def _joined(found: Invitation) -> str:
    """The token of the invited person's session."""
    known = User.person(found.email)
    if not known:
        return members.join_new(found, new_password(), client())
    password, code = request.form.get("password", ""), request.form.get("code", "")[:100]
    token = members.join_known(found, password, code, client())
    if token is None:
        raise FormError(WRONG_PROOF if known[0].has_two_factor else WRONG)
    return token


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
    """The new password in the form. Raises FormError if its two fields differ."""
    password = request.form.get("password", "")
    if password != request.form.get("again"):
        raise FormError("The two passwords differ. Type the same one twice.")
    return password

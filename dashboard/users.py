"""/dashboard/users: users and their roles. Invitations and password links go by mail and are not shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from flask import Response, abort, g, request

from dashboard.guard import OWNERS, account
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from models.accounts.invitation import Invitation
from models.accounts.user import EmailTakenError, LastOwnerError, Role, User, normalise
from models.accounts.user_session import TooManyAttemptsError
from models.addresses import is_email
from models.errors import ConflictError
from services import accounts, mailing, members
from webhooks.mail import MailError

PATH = "/dashboard/users"
MAY = {
    Role.OWNER: "Everything, users and the audit log included.",
    Role.DEVELOPER: "Everything but users and the audit log: keys, webhooks, signup links, deliveries.",
    Role.AGENT: "Read all but signup links and API requests; reply to people, change contacts.",
    Role.VIEWER: "Read all but signup links and API requests; change nothing.",
}
LAST_OWNER = "This is the only owner. Make somebody else an owner first."
TOO_MANY_MAILS = "This address or this account has had too many mails today. Try again tomorrow."
OWN_FIRST = "Set up two-factor authentication for yourself first, under Your account."


@blueprint.page("/users", OWNERS)
def users() -> Response:
    """The users and the open invitations."""
    return show(
        "users.html",
        found=User.page(account().id, PER_PAGE, offset()),
        invitations=Invitation.pending(account().id),
        roles=MAY,
        has_mail=mailing.is_possible(),
    )


@blueprint.action("/users", OWNERS, "user.invited", needs_proof=True)
def invite() -> Response:
    """Mail an invitation."""
    email, role = normalise(request.form.get("email", "")), _role()
    if not is_email(email):
        raise FormError("This is not an email address. Correct it.")
    with _mailing(users):
        try:
            members.invite(g.session.user, email, role)
        except EmailTakenError:
            problem = "This email is already a user of this account. Change their role instead."
            raise FormError(problem, 409) from None
        except ConflictError as error:
            raise FormError(error.message, 409) from None
    return go(PATH, say="invitation-sent")


@blueprint.action("/users/two-factor", OWNERS, "account.two_factor_changed")
def require_two_factor() -> Response:
    """Require two-factor authentication of all users of the account, or no longer."""
    is_required = bool(request.form.get("required"))
    if is_required and not g.session.user.has_two_factor:
        raise FormError(status=409, problems={"two_factor": OWN_FIRST}, view=users)
    accounts.require_two_factor(account(), is_required=is_required)
    return go(PATH, say="two-factor-required" if is_required else "two-factor-optional")


@blueprint.action(
    "/users/invitations/<invitation_id>/withdraw", OWNERS, "invitation.withdrawn", asks=True
)
def withdraw_invitation(invitation_id: str) -> Response:
    """Withdraw an invitation that was not accepted."""
    row = mine(Invitation.by_id(invitation_id))
    if question := confirm("withdraw-invitation", row.email, back=PATH):
        return question
    row.withdraw()
    return go(PATH, say="invitation-withdrawn")


@blueprint.page("/users/<user_id>", OWNERS)
def user(user_id: str) -> Response:
    """One user, with the possible actions."""
    row = mine(User.by_id(user_id))
    is_self, has_mail = row.id == g.session.user.id, mailing.is_possible()
    return show("user.html", row=row, is_self=is_self, has_mail=has_mail, roles=MAY)


@blueprint.action("/users/<user_id>", OWNERS, "user.role_changed")
def change_role(user_id: str) -> Response:
    """Change a user's role."""
    row, role = mine(User.by_id(user_id)), _role()
    try:
        row.become(role)
    except LastOwnerError:
        raise FormError(LAST_OWNER, 409, view=user) from None
    return go(PATH, say="role-changed")


@blueprint.action("/users/<user_id>/reset", OWNERS, "user.reset_link_created", asks=True)
def create_reset(user_id: str) -> Response:
    """Mail a password link. Users change their own password with the old one instead."""
    row = mine(User.by_id(user_id))
    if row.id == g.session.user.id:
        abort(404)
    if question := confirm("reset-password", row.email, back=f"{PATH}/{row.id}"):
        return question
    with _mailing(user):
        members.send_password_link(row)
    return go(PATH, say="password-link-sent")


@blueprint.action("/users/<user_id>/remove", OWNERS, "user.removed", asks=True)
def remove_user(user_id: str) -> Response:
    """Remove a user. Users can remove themselves, but not the last owner."""
    row = mine(User.by_id(user_id))
    if question := confirm("remove-user", row.email, back=f"{PATH}/{row.id}"):
        return question
    try:
        members.dismiss(row)
    except LastOwnerError:
        raise FormError(LAST_OWNER, 409, view=user) from None
    return go(PATH, say="user-removed")


def _role() -> Role:
    return request.form.get("role", type=Role) or abort(422)


@contextmanager
def _mailing(view: Callable[..., Response]) -> Iterator[None]:
    """Show a refused mail on the page of this view."""
    try:
        yield
    except TooManyAttemptsError:
        raise FormError(TOO_MANY_MAILS, 429, view=view) from None
    except MailError as error:
        raise FormError(str(error), HTTPStatus.BAD_GATEWAY, view=view) from None

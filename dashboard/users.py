"""/dashboard/users: users and their roles, invitations and password links."""

from flask import Response, abort, g, request

from dashboard.guard import OWNERS, about, account, unchanged
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from gateway.settings import get_settings
from models.accounts.invitation import Invitation
from models.accounts.password import PasswordReset
from models.accounts.user import EMAIL, EmailTakenError, LastOwnerError, Role, User, normalise

PATH = "/dashboard/users"
MAY = {
    Role.OWNER: "Everything, users and the audit log included.",
    Role.DEVELOPER: "Everything but users and the audit log: keys, webhooks, signup links, deliveries.",
    Role.AGENT: "Read all but signup links and API requests; reply to people, change contacts.",
    Role.VIEWER: "Read all but signup links and API requests; change nothing.",
}
LAST_OWNER = "This is the only owner. Make somebody else an owner first."


@blueprint.page("/users", OWNERS)
def users() -> Response:
    """The users and the open invitations."""
    return show(
        "users.html",
        found=User.page(account().id, PER_PAGE, offset()),
        invitations=Invitation.pending(account().id),
        roles=MAY,
    )


@blueprint.atomic("/users", OWNERS, "user.invited")
def invite() -> Response:
    """Create an invitation and show its link once: it is not stored."""
    email, role = request.form.get("email", "").strip(), _role()
    if not EMAIL.fullmatch(normalise(email)):
        raise FormError("This is not an email address. Correct it.")
    try:
        row, token = Invitation.open(account(), email, role)
    except EmailTakenError:
        problem = "This email is already a user of this account. Change their role instead."
        raise FormError(problem, 409) from None
    about(row.id, email=row.email, role=role)
    return show("user_link.html", invitation=row, email=row.email, url=_url("invitation", token))


@blueprint.atomic(
    "/users/invitations/<invitation_id>/withdraw", OWNERS, "invitation.withdrawn", asks=True
)
def withdraw_invitation(invitation_id: str) -> Response:
    """Withdraw an invitation that was not accepted."""
    row = mine(Invitation.by_id(invitation_id))
    if question := confirm("withdraw-invitation", row.email, back=PATH):
        return question
    row.delete_instance()
    about(email=row.email)
    return go(PATH, say="invitation-withdrawn")


@blueprint.page("/users/<user_id>", OWNERS)
def user(user_id: str) -> Response:
    """One user, with the possible actions."""
    row = mine(User.by_id(user_id))
    return show("user.html", row=row, is_self=row.id == g.session.user.id, roles=MAY)


@blueprint.atomic("/users/<user_id>", OWNERS, "user.role_changed")
def change_role(user_id: str) -> Response:
    """Change a user's role."""
    row, role = mine(User.by_id(user_id)), _role()
    if row.role == role:
        unchanged()
    about(email=row.email, role=role, before=row.role)
    try:
        row.become(role)
    except LastOwnerError:
        raise FormError(LAST_OWNER, 409, view=user) from None
    return go(PATH, say="role-changed")


@blueprint.atomic("/users/<user_id>/reset", OWNERS, "user.reset_link_created", asks=True)
def create_reset(user_id: str) -> Response:
    """Create a password link and show it once. Users change their own password with the old one instead."""
    row = mine(User.by_id(user_id))
    if row.id == g.session.user.id:
        abort(404)
    if question := confirm("reset-password", row.email, back=f"{PATH}/{row.id}"):
        return question
    url = _url("password", PasswordReset.open(row))
    about(email=row.email)
    return show("user_link.html", invitation=None, email=row.email, url=url)


@blueprint.atomic("/users/<user_id>/remove", OWNERS, "user.removed", asks=True)
def remove_user(user_id: str) -> Response:
    """Remove a user. Users can remove themselves, but not the last owner."""
    row = mine(User.by_id(user_id))
    if question := confirm("remove-user", row.email, back=f"{PATH}/{row.id}"):
        return question
    try:
        row.dismiss()
    except LastOwnerError:
        raise FormError(LAST_OWNER, 409, view=user) from None
    about(email=row.email)
    return go(PATH, say="user-removed")


def _role() -> Role:
    return request.form.get("role", type=Role) or abort(422)


def _url(kind: str, token: str) -> str:
    return f"{get_settings().public_url}/dashboard/{kind}/{token}"

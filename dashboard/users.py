"""/dashboard/users: users and their roles, invitations and password links."""

from flask import Response, abort, g, request

from dashboard.guard import OWNERS, about, account, unchanged
from dashboard.site import PER_PAGE, blueprint, confirm, go, mine, offset, show
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
    return _list()


@blueprint.atomic("/users", OWNERS, "user.invited")
def invite() -> Response:
    """Create an invitation and show its link once: it is not stored."""
    email, role = request.form.get("email", "").strip(), _role()
    if not EMAIL.fullmatch(normalise(email)):
        return _list(
            422, problem="This is not an email address. Correct it.", email=email, role=role
        )
    try:
        row, token = Invitation.open(account(), email, role)
    except EmailTakenError:
        problem = "This email is already a user of this account. Change their role instead."
        return _list(409, problem=problem, email=email, role=role)
    about(row.id, email=row.email, role=role)
    return show("user_link.html", invitation=row, email=row.email, url=_url("invitation", token))


@blueprint.page("/users/invitations/<invitation_id>/withdraw", OWNERS)
def confirm_withdraw_invitation(invitation_id: str) -> Response:
    """Ask for confirmation."""
    row = mine(Invitation.by_id(invitation_id))
    return confirm("withdraw-invitation", row.email, back=PATH)


@blueprint.atomic("/users/invitations/<invitation_id>/withdraw", OWNERS, "invitation.withdrawn")
def withdraw_invitation(invitation_id: str) -> Response:
    """Withdraw an invitation that was not accepted."""
    row = mine(Invitation.by_id(invitation_id))
    row.withdraw()
    about(email=row.email)
    return go(PATH, say="invitation-withdrawn")


@blueprint.page("/users/<user_id>", OWNERS)
def user(user_id: str) -> Response:
    """One user, with the possible actions."""
    return _page(mine(User.by_id(user_id)))


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
        return _page(row, 409, problem=LAST_OWNER)
    return go(PATH, say="role-changed")


@blueprint.page("/users/<user_id>/reset", OWNERS)
def confirm_create_reset(user_id: str) -> Response:
    """Ask for confirmation."""
    row = _another(user_id)
    return confirm("reset-password", row.email, back=_path_of(row))


@blueprint.atomic("/users/<user_id>/reset", OWNERS, "user.reset_link_created")
def create_reset(user_id: str) -> Response:
    """Create the link and show it once."""
    row = _another(user_id)
    url = _url("password", PasswordReset.open(row))
    about(email=row.email)
    return show("user_link.html", invitation=None, email=row.email, url=url)


@blueprint.page("/users/<user_id>/remove", OWNERS)
def confirm_remove_user(user_id: str) -> Response:
    """Ask for confirmation."""
    row = mine(User.by_id(user_id))
    return confirm("remove-user", row.email, back=_path_of(row))


@blueprint.atomic("/users/<user_id>/remove", OWNERS, "user.removed")
def remove_user(user_id: str) -> Response:
    """Remove a user. Users can remove themselves, but not the last owner."""
    row = mine(User.by_id(user_id))
    try:
        row.dismiss()
    except LastOwnerError:
        return _page(row, 409, problem=LAST_OWNER)
    about(email=row.email)
    return go(PATH, say="user-removed")


def _another(user_id: str) -> User:
    """Another user of the account. The user's own password is changed with the old one instead."""
    return mine(User.by_id(user_id)) if user_id != g.session.user.id else abort(404)


def _role() -> Role:
    try:
        return Role(request.form.get("role", ""))
    except ValueError:
        abort(422)


def _url(kind: str, token: str) -> str:
    return f"{get_settings().public_url}/dashboard/{kind}/{token}"


def _path_of(row: User) -> str:
    return f"{PATH}/{row.id}"


def _page(row: User, status: int = 200, *, problem: str = "") -> Response:
    is_self = row.id == g.session.user.id
    return show("user.html", status, row=row, is_self=is_self, roles=MAY, problem=problem)


def _list(
    status: int = 200, *, problem: str = "", email: str = "", role: Role = Role.VIEWER
) -> Response:
    return show(
        "users.html",
        status,
        found=User.page(account().id, PER_PAGE, offset()),
        invitations=Invitation.pending(account().id),
        roles=MAY,
        problem=problem,
        email=email,
        chosen=role,
    )

"""The page for a role that is not allowed: the required role, and who can grant it."""

from flask import Response, request

from dashboard.guard import NotAllowedError, account
from dashboard.site import blueprint, show
from models.accounts.user import Role, User


@blueprint.errorhandler(NotAllowedError)
def show_forbidden(error: NotAllowedError) -> Response:
    """403, in the layout."""
    needed = [role for role in Role if role in error.rule.roles]
    return show(
        "forbidden.html",
        403,
        needed=needed,
        owners=User.owners(account().id),
        is_change=request.method == "POST",
    )

"""/dashboard/you: the user's own password and sessions."""

from flask import Response, g, request

from dashboard.passwords import new_password, problem_of_new
from dashboard.signing_in import explain, too_many
from dashboard.site import blueprint, existing, go, show
from models.accounts.password import change_password
from models.accounts.user import User
from models.accounts.user_session import PASSWORD, SignInAttempt, TooManyAttemptsError, UserSession

PATH = "/dashboard/you"
WRONG = "The current password is wrong."


@blueprint.get("/you")
def you() -> Response:
    """The user's role, the password form and the sessions."""
    return _page()


@blueprint.post("/you")
def change_own_password() -> Response:
    """Change the password, and end all other sessions."""
    try:
        problem = problem_of_new() or problem_of_password()
    except TooManyAttemptsError as error:
        return too_many(error, _page(429, explain(error)))
    if problem:
        return _page(422, problem)
    change_password(me(), new_password(), keep=g.session.id)
    return go(PATH, say="password-changed")


@blueprint.post("/you/sessions/<session_id>/revoke")
def revoke_session(session_id: str) -> Response:
    """End one of the user's sessions."""
    row = UserSession.by_id(session_id)
    row = existing(row if row is not None and row.user_id == me().id else None)
    row.delete_instance()
    return go(PATH, say="session-revoked")


@blueprint.post("/you/sessions/revoke")
def revoke_other_sessions() -> Response:
    """End all sessions of the user except this one."""
    UserSession.end_all(me(), but=g.session.id)
    return go(PATH, say="sessions-revoked")


def me() -> User:
    """The user of the session."""
    found: User = g.session.user
    return found


def problem_of_password() -> str:
    """The error of the form's current password. Raises TooManyAttemptsError."""
    SignInAttempt.begin_proof(me(), PASSWORD)
    if not me().has_password(request.form.get("present", "")):
        return WRONG
    SignInAttempt.forget_proof(me(), PASSWORD)
    return ""


def _page(status: int = 200, problem: str = "") -> Response:
    sessions = UserSession.of(me())
    return show("you.html", status, sessions=sessions, present=g.session.id, problem=problem)

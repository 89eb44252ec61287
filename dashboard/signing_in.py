"""/dashboard/sign-in and /dashboard/sign-out."""

from flask import Response, g, request

from dashboard import cookies, guard
from dashboard.site import blueprint, go, show
from models.user_session import TooManyAttemptsError, UserSession
from models.user_session import sign_in as begin_session

WRONG = "Wrong email or password."


@blueprint.get("/sign-in")
def sign_in_form() -> Response:
    """The form, or where it leads to when it is not needed."""
    target = guard.safe_next(request.args.get("next", ""))
    return go(target) if g.session else _form(target)


@blueprint.post("/sign-in")
def sign_in() -> Response:
    """Begin a session, always a new one: a token from before is worth nothing."""
    email, password = request.form.get("email", ""), request.form.get("password", "")
    target = guard.safe_next(request.form.get("next", ""))
    try:
        token = begin_session(email, password, request.remote_addr or "unknown")
    except TooManyAttemptsError as error:
        minutes = -(-error.retry_after // 60)
        problem = f"Too many attempts. Try again in {minutes} min."
        response = _form(target, 429, email=email, problem=problem)
        response.headers["Retry-After"] = str(error.retry_after)
        return response
    if token is None:
        return _form(target, 422, email=email, problem=WRONG)
    _end_session()
    response = go(target)
    cookies.set_cookie(response, cookies.SESSION, token)
    cookies.clear_cookie(response, cookies.VISITOR)
    return response


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session, here and in the browser."""
    _end_session()
    response = go(guard.SIGN_IN, say="signed-out")
    cookies.clear_cookie(response, cookies.SESSION)
    return response


def _end_session() -> None:
    if token := cookies.cookie(cookies.SESSION):
        UserSession.end(token)


def _form(target: str, status: int = 200, *, email: str = "", problem: str = "") -> Response:
    return show("sign_in.html", status, target=target, email=email, problem=problem)

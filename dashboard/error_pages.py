"""Errors as pages: paths that people open never return JSON."""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, cast

from flask import Response, current_app, g, request
from peewee import DatabaseError, IntegrityError, InterfaceError
from werkzeug.exceptions import MethodNotAllowed

from dashboard.connect import Outcome
from dashboard.guard import PROOF_FIELD, NotAllowedError, ProofError, account, rule_of
from dashboard.pages import render
from dashboard.site import FormError, blueprint, section, show
from models.accounts.password_strength import WeakPasswordError
from models.accounts.user import Role, User
from models.accounts.user_session import TooManyAttemptsError
from models.errors import RateLimitedError
from resources.error import CODES

logger = logging.getLogger(__name__)

PREFIX = "/connect/"
DASHBOARD = "/dashboard"
# Seconds, if the database is unavailable, or if it is not known.
RETRY_AFTER = 5


def is_page(path: str) -> bool:
    """True if people open this path."""
    return path.startswith(PREFIX) or _is_dashboard(path)


def _is_dashboard(path: str) -> bool:
    return f"{path}/".startswith(f"{DASHBOARD}/")


def error_page(status: int, headers: Mapping[str, str], path: str = PREFIX) -> Response:
    """The page of an HTTP error, with the headers of its status (Allow, Retry-After)."""
    if _is_dashboard(path):
        headers = {"Referrer-Policy": "same-origin", **headers}
        wait = headers.get("Retry-After")
        known: dict[str, Any] = {"error": status, "code": CODES.get(status), "wait": wait}
        return render("dashboard/error.html", status, headers=headers, **known)
    outcome = Outcome("error", status, headers=dict(headers))
    return render(
        "connect/outcome.html", status, headers=headers, outcome=outcome, slug="", fields={}
    )


@blueprint.errorhandler(NotAllowedError)
def show_forbidden(error: NotAllowedError) -> Response:
    """403 for a role that is not allowed: the required role, and who can grant it."""
    needed = [role for role in Role if role in error.rule.roles]
    return show(
        "forbidden.html",
        403,
        needed=needed,
        owners=User.owners(account().id),
        is_change=request.method == "POST",
    )


@blueprint.errorhandler(FormError)
def show_form(error: FormError) -> Response:
    """The page of the form again."""
    g.refused, view = error.shown, error.view or _view_of_form()
    if view is None:
        raise error
    named = {} if rule_of(request.endpoint).form else request.view_args or {}
    try:
        response = view(**named)
    except Exception as failure:  # noqa: BLE001 - Flask sends an error here to no other handler
        return current_app.make_response(current_app.handle_user_exception(failure))
    if response.status_code == HTTPStatus.OK:
        response.status_code = error.status
    return response


def _view_of_form() -> Callable[..., Response] | None:
    """The view of the page whose form was posted. None for a button, and for a question that asks first."""
    if form := rule_of(request.endpoint).form:
        return _view(f"{blueprint.name}.{form}")
    try:
        endpoint, values = current_app.url_map.bind("").match(request.path, method="GET")
    except MethodNotAllowed:
        return None
    # The view of a question would do what it asks for.
    is_form = endpoint != request.endpoint and values == request.view_args
    return _view(endpoint) if is_form else None


def _view(endpoint: str) -> Callable[..., Response]:
    return cast("Callable[..., Response]", current_app.view_functions[endpoint])


@blueprint.errorhandler(RateLimitedError)
def show_later(error: RateLimitedError) -> Response:
    """429, with the time to wait: the page of the form with what was typed, or a page that leads back."""
    if request.method == "POST" and _view_of_form():
        response = show_form(FormError(error.message, 429))
    else:
        response = show("later.html", 429, reason=error.message, back=section())
    response.headers["Retry-After"] = str(error.retry_after or RETRY_AFTER)
    return response


@blueprint.errorhandler(WeakPasswordError)
def show_weak(error: WeakPasswordError) -> Response:
    """The page of a form whose new password is refused."""
    return show_form(FormError(str(error)))


@blueprint.errorhandler(ProofError)
def show_proof(_error: ProofError) -> Response:
    """The page of a form that needs the password again."""
    return show_form(FormError(problems={PROOF_FIELD: "Enter your password. Nothing was changed."}))


@blueprint.errorhandler(TooManyAttemptsError)
def show_wait(error: TooManyAttemptsError) -> Response:
    """The page of a form whose password or code was not checked."""
    minutes = -(-error.retry_after // 60)
    response = show_form(FormError(f"Too many attempts. Try again in {minutes} min.", 429))
    response.headers["Retry-After"] = str(error.retry_after)
    return response


@blueprint.errorhandler(DatabaseError)
@blueprint.errorhandler(InterfaceError)
def show_broken(error: Exception) -> Response:
    """503 if the database is unavailable: a page that can be reloaded, with the navigation if possible."""
    if isinstance(error, IntegrityError):
        # The database answered, so the query is wrong: a bug.
        raise error
    logger.error("a page could not be loaded", exc_info=error)
    if "session" not in g:
        # The session itself could not be read.
        g.session = g.form_secret = None
    is_read = request.method in {"GET", "HEAD"}
    again = request.full_path.rstrip("?") if is_read else section()
    response = show("broken.html", 503, is_read=is_read, again=again)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    return response

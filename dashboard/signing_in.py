"""/dashboard/sign-in, its second step for two-factor authentication, and /dashboard/sign-out."""

from urllib.parse import quote

from flask import Response, g, request

from dashboard import cookies, guard
from dashboard.site import FormError, blueprint, go, show
from models.accounts.sign_in import Client, PendingSignIn
from models.accounts.sign_in import sign_in as open_by_password
from models.accounts.user_session import UserSession

WRONG = "Wrong email or password."
WRONG_CODE = "This code is wrong, or was used already. Wait for the next one."
CODE = "/dashboard/sign-in/code"
# The first match wins: most browsers name other browsers as well.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


@blueprint.public("/sign-in")
def sign_in_form() -> Response:
    """The form, or a redirect if the user is signed in."""
    if g.session and request.method != "POST":
        return go(_target())
    return show("sign_in.html", target=_target())


@blueprint.public("/sign-in", "POST")
def sign_in() -> Response:
    """Begin a new session, which invalidates an earlier token, or ask for the code."""
    email, password = request.form.get("email", ""), request.form.get("password", "")
    entry = open_by_password(email, password, client())
    if entry is None:
        raise FormError(WRONG)
    if not entry.needs_code:
        return enter(entry.token, _target())
    response = go(f"{CODE}?next={quote(_target(), safe='/')}")
    cookies.set_cookie(response, cookies.PENDING, entry.token)
    return response


@blueprint.public("/sign-in/code")
def code_form() -> Response:
    """The second step, or the first if the sign-in expired."""
    return go(guard.SIGN_IN) if _pending() is None else show("sign_in_code.html", target=_target())


@blueprint.public("/sign-in/code", "POST")
def enter_code() -> Response:
    """Begin the session if the code is right."""
    pending = _pending()
    if pending is None:
        return go(guard.SIGN_IN, say="sign-in-again")
    token = pending.finish(request.form.get("code", "")[:100], client())
    if token is None:
        raise FormError(WRONG_CODE)
    return enter(token, _target())


@blueprint.action("/sign-out", guard.ALL, "session.ended")
def sign_out() -> Response:
    """End the session, and delete its cookie."""
    _end_session()
    response = go(guard.SIGN_IN, say="signed-out")
    cookies.clear_cookie(response, cookies.SESSION)
    return response


def enter(token: str, target: str) -> Response:
    """Give the browser a new session instead of its old one."""
    _end_session()
    response = go(target)
    cookies.set_cookie(response, cookies.SESSION, token)
    cookies.clear_cookie(response, cookies.VISITOR)
    if cookies.cookie(cookies.PENDING):
        cookies.clear_cookie(response, cookies.PENDING)
    return response


def _target() -> str:
    """The page after the sign-in, from the URL or the form."""
    return guard.safe_next(request.values.get("next", ""))


def _pending() -> PendingSignIn | None:
    token = cookies.cookie(cookies.PENDING)
    return PendingSignIn.find(token, g.form_secret or "") if token else None


def _end_session() -> None:
    if token := cookies.cookie(cookies.SESSION):
        UserSession.end(token)


def client() -> Client:
    """The address and browser of the current request."""
    browser = shortened(request.headers.get("User-Agent", ""))
    return Client(guard.address(), browser, g.form_secret or "")


def shortened(agent: str) -> str:
    """The browser and system of a User-Agent header, such as ``Firefox on Linux``."""
    browser = next((name for sign, name in _BROWSERS if sign in agent), "Unknown browser")
    system = next((name for sign, name in _SYSTEMS if sign in agent), None)
    return f"{browser} on {system}" if system else browser

"""/dashboard/sign-in with its steps for code and account, /dashboard/accounts and /dashboard/sign-out."""

from urllib.parse import quote

from flask import Response, abort, g, request

from dashboard import cookies, guard
from dashboard.site import FormError, blueprint, go, show
from models.accounts.known_device import LIFETIME_DAYS
from models.accounts.sign_in import Client, Entry, PendingSignIn, Step, switch
from models.accounts.sign_in import sign_in as open_by_password
from models.accounts.user import User
from models.accounts.user_session import ENDED, UserSession
from services.credentials import recognise, report_refused_code

WRONG = "Wrong email or password."
WRONG_CODE = "This code is wrong, or was used already. Wait for the next one."
STEPS = {Step.CODE: "/dashboard/sign-in/code", Step.ACCOUNT: "/dashboard/sign-in/account"}
ACCOUNTS = "/dashboard/accounts"
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
    """Begin a new session, which invalidates an earlier token, or ask for the code or the account."""
    email, password = request.form.get("email", ""), request.form.get("password", "")
    entry = open_by_password(email, password, client())
    if entry is None:
        raise FormError(WRONG)
    return _go_on(entry)


@blueprint.public("/sign-in/code")
def code_form() -> Response:
    """The step for the code, or the first if the sign-in expired."""
    is_open = _pending(Step.CODE) is not None
    return show("sign_in_code.html", target=_target()) if is_open else go(guard.SIGN_IN)


@blueprint.public("/sign-in/code", "POST")
def enter_code() -> Response:
    """Begin the session if the code is right, or ask for the account."""
    pending = _pending(Step.CODE)
    if pending is None:
        return go(guard.SIGN_IN, say="sign-in-again")
    code = request.form.get("code", "")[:100]
    entry = pending.finish(code, client())
    if entry is None:
        report_refused_code(pending.user, code, guard.address())
        raise FormError(WRONG_CODE)
    return _go_on(entry)


@blueprint.public("/sign-in/account")
def account_form() -> Response:
    """The accounts of a person who has proven who they are, or the first step if the sign-in expired."""
    pending = _pending(Step.ACCOUNT)
    return go(guard.SIGN_IN) if pending is None else _show(STEPS[Step.ACCOUNT], pending.choices())


@blueprint.public("/sign-in/account", "POST")
def choose_account() -> Response:
    """Begin the session in the account."""
    pending = _pending(Step.ACCOUNT)
    token = pending.choose(request.form.get("user_id", ""), client()) if pending else None
    return enter(token, _target()) if token else go(guard.SIGN_IN, say="sign-in-again")


@blueprint.page("/accounts", guard.ALL)
def accounts() -> Response:
    """The accounts of the person, to switch to."""
    return _show(ACCOUNTS, User.admitted(g.session.user.email))


@blueprint.action("/accounts", guard.ALL, ENDED)
def switch_account() -> Response:
    """End the session, and continue in another account without a new sign-in.

    Forms of the old session are refused, so none of them changes the other account.
    """
    token = switch(g.session, request.form.get("user_id", ""), client())
    return enter(token, _target()) if token else abort(404)


@blueprint.action("/sign-out", guard.ALL, ENDED)
def sign_out() -> Response:
    """End the session, and delete its cookie."""
    g.session.close(ENDED)
    response = go(guard.SIGN_IN, say="signed-out")
    cookies.clear_cookie(response, cookies.SESSION)
    return response


def enter(token: str, target: str) -> Response:
    """Give the browser a new session instead of its old one, and remember the browser."""
    _end_session()
    response = go(target)
    cookies.set_cookie(response, cookies.SESSION, token)
    if session := UserSession.resume(token):
        device = recognise(session.user, client(), cookies.cookie(cookies.DEVICE))
        cookies.set_cookie(response, cookies.DEVICE, device, LIFETIME_DAYS * 24 * 3_600)
    cookies.clear_cookie(response, cookies.VISITOR)
    if cookies.cookie(cookies.PENDING):
        cookies.clear_cookie(response, cookies.PENDING)
    return response


def _target() -> str:
    """The page after the sign-in, from the URL or the form."""
    return guard.safe_next(request.values.get("next", ""))


def _pending(step: Step) -> PendingSignIn | None:
    token = cookies.cookie(cookies.PENDING)
    return PendingSignIn.find(token, g.form_secret or "", step) if token else None


def _go_on(entry: Entry) -> Response:
    """The session, or the next step."""
    if entry.needs is None:
        return enter(entry.token, _target())
    response = go(f"{STEPS[entry.needs]}?next={quote(_target(), safe='/')}")
    cookies.set_cookie(response, cookies.PENDING, entry.token)
    return response


def _show(action: str, choices: list[User]) -> Response:
    return show("accounts.html", action=action, choices=choices, target=_target())


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

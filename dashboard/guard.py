"""What stands before every page of the dashboard: a session, and for a POST a form that is ours."""

import hashlib
import hmac
import secrets
from urllib.parse import quote, urlsplit

from flask import Response, abort, g, request

from dashboard.cookies import SESSION, VISITOR, cookie
from gateway.settings import get_settings
from models.account import Account
from models.user_session import UserSession

HOME = "/dashboard/"
SIGN_IN = "/dashboard/sign-in"
TOKEN_FIELD = "csrf_token"  # noqa: S105 - a field's name
# What a visitor without a session may ask for.
PUBLIC = {"dashboard.sign_in", "dashboard.sign_in_form", "dashboard.static", "dashboard.to_home"}


def check_request() -> Response | None:
    """Before each request: load the session, refuse forms that are not ours, ask to sign in."""
    token = cookie(SESSION)
    g.session = UserSession.resume(token) if token else None
    # A visitor's forms are bound to a cookie of their own, which the page with the form sets.
    g.form_secret = token if g.session else cookie(VISITOR)
    is_public = request.endpoint in PUBLIC
    if g.session is None and not is_public:
        # A form that was filled in too late leads to the beginning: it cannot be posted by a link.
        target = request.full_path.rstrip("?") if request.method in {"GET", "HEAD"} else HOME
        query = "" if target == HOME else f"?next={quote(target, safe='/')}"
        return Response(status=303, headers={"Location": SIGN_IN + query})
    if request.method not in {"GET", "HEAD", "OPTIONS"} and not _is_our_form():
        abort(403)
    return None


def account() -> Account:
    """Whom the session's user signed in to."""
    found: Account = g.session.user.account
    return found


def form_token() -> str:
    """What a form carries, derived from a cookie that no other site can read."""
    if g.form_secret is None:
        g.form_secret = g.new_visitor = secrets.token_urlsafe(32)
    return _token(g.form_secret)


def safe_next(target: str) -> str:
    """Where to go after the sign-in: always a page of the dashboard."""
    is_plain = all("!" <= character <= "~" and character != "\\" for character in target)
    return target if is_plain and target.startswith(HOME) and "//" not in target else HOME


def _token(secret: str) -> str:
    return hashlib.sha256(f"form {secret}".encode("utf-8", "surrogatepass")).hexdigest()


def _is_our_form() -> bool:
    given = request.form.get(TOKEN_FIELD, "").encode(errors="replace")
    expected = "" if g.form_secret is None else _token(g.form_secret)
    return bool(expected) and hmac.compare_digest(given, expected.encode()) and _is_our_origin()


def _is_our_origin() -> bool:
    """Whether the form stood on one of our pages. Programs that are no browsers name no origin."""
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    public = urlsplit(get_settings().public_url)
    # Behind a proxy the page may be known to us by the public address only. What is given is compared and
    # never parsed, because it may be no address at all.
    ours = f"{public.scheme}://{public.netloc}", f"http://{request.host}", f"https://{request.host}"
    return origin in ours

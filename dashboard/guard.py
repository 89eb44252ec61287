"""Checks before every page of the dashboard: session, role, second factor, and for a POST the CSRF token.

Writes a row to the audit log for each change. A refused change has no row: its view returns an error, or
calls ``unchanged``. The row of an atomic view is written in the same transaction. Other actions hold no
transaction open: if the process ends right after the change, the row is missing.
"""

import functools
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlsplit

from flask import Blueprint, Response, abort, current_app, g, request

from dashboard.cookies import SESSION, VISITOR, cookie
from gateway.settings import get_settings
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from models.database import writing

# The edge looks up the session, because the rate limit needs the user too. It is above this package, so the
# application injects a function that reads the session from the request's WSGI environment.
EXTENSION = "session"
Look = Callable[[Mapping[str, Any]], UserSession | None]
HOME = "/dashboard/"
SIGN_IN = "/dashboard/sign-in"
SET_UP = "/dashboard/you/two-factor"
CLIENT_ERROR = 400
TOKEN_FIELD = "csrf_token"  # noqa: S105 - a field's name


OWNERS = frozenset({Role.OWNER})
DEVELOPERS = OWNERS | {Role.DEVELOPER}
AGENTS = DEVELOPERS | {Role.AGENT}
ALL = AGENTS | {Role.VIEWER}

View = TypeVar("View", bound=Callable[..., Response])


@dataclass(frozen=True)
class Rule:
    """The roles that may use a view. A public view needs no session.

    ``change`` is the action in the audit log. It is None if the view writes its own row or changes nothing.
    """

    roles: frozenset[Role]
    change: str | None = None
    is_atomic: bool = False
    is_public: bool = False


NOBODY, PUBLIC = Rule(frozenset()), Rule(frozenset(), is_public=True)
# By the name of the view. Complete once dashboard.urls is imported.
RULES = {"static": PUBLIC}
# The private views of a user who must set up two-factor authentication before anything else.
BEFORE_TWO_FACTOR = frozenset(
    {
        *("two_factor", "set_up_two_factor", "turn_on_two_factor"),
        *("accounts", "switch_account", "sign_out"),
    }
)


class NotAllowedError(Exception):
    """The user's role does not allow this. ``rule`` has the roles that do."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.rule = rule


class GuardedBlueprint(Blueprint):
    """A blueprint whose views state their roles. A view that Flask's decorators add is refused to all."""

    def public(self, path: str, method: str = "GET") -> Callable[[View], View]:
        """A view that needs no session."""
        return self._guarded(path, method, PUBLIC)

    def page(self, path: str, roles: frozenset[Role]) -> Callable[[View], View]:
        """A view that changes nothing."""
        return self._guarded(path, "GET", Rule(roles))

    def action(
        self, path: str, roles: frozenset[Role], change: str, *, asks: bool = False
    ) -> Callable[[View], View]:
        """An action that waits for a host or hashes a password. Its row is written afterwards.

        A view that ``asks`` shows the page of dashboard.site.confirm() before it changes anything.
        """
        return self._guarded(path, "GET POST" if asks else "POST", Rule(roles, change))

    def atomic(
        self, path: str, roles: frozenset[Role], change: str, *, asks: bool = False
    ) -> Callable[[View], View]:
        """An action that runs in one transaction with its row."""
        rule = Rule(roles, change, is_atomic=True)
        return self._guarded(path, "GET POST" if asks else "POST", rule)

    def _guarded(self, path: str, methods: str, rule: Rule) -> Callable[[View], View]:
        def add(view: View) -> View:
            RULES[view.__name__] = rule
            self.add_url_rule(path, view_func=_recorded(view, rule), methods=methods.split())
            return view

        return add


def check_request() -> Response | None:
    """Before each request: require the sign-in, check the role and the form's origin."""
    g.session = cast("Look", current_app.extensions[EXTENSION])(request.environ)
    # Without a session, the page with the form sets a separate cookie for its CSRF token.
    g.form_secret = cookie(SESSION if g.session else VISITOR)
    rule = rule_of(request.endpoint)
    if g.session is None and not rule.is_public:
        # An expired form redirects to the first page: a link cannot post it.
        target = request.full_path.rstrip("?") if request.method in {"GET", "HEAD"} else HOME
        query = "" if target == HOME else f"?next={quote(target, safe='/')}"
        return redirect(SIGN_IN + query)
    if not _has_role(rule):
        raise NotAllowedError(rule)
    if _waits_for_two_factor(_view_of(request.endpoint)):
        return redirect(SET_UP)
    if request.method not in {"GET", "HEAD", "OPTIONS"} and not _is_our_form():
        abort(403)
    return None


def redirect(path: str) -> Response:
    """Redirect to a page. A path in code has no part of the public URL's path, a link of a response has."""
    return Response(status=303, headers={"Location": get_settings().public_path + path})


def rule_of(endpoint: str | None) -> Rule:
    """The rule of an endpoint."""
    return RULES.get(_view_of(endpoint), NOBODY)


def may(view: str) -> bool:
    """True if the user may use the view of this name, a key of RULES. Pages hide the others."""
    return _has_role(RULES[view]) and not _waits_for_two_factor(view)


def _view_of(endpoint: str | None) -> str:
    return (endpoint or "").removeprefix("dashboard.")


def _has_role(rule: Rule) -> bool:
    return rule.is_public or (g.session is not None and g.session.user.role in rule.roles)


def _waits_for_two_factor(view: str) -> bool:
    """Whether the user, who has the role for the view, must set up two-factor authentication before it."""
    if RULES[view].is_public or view in BEFORE_TWO_FACTOR:
        return False
    return bool(g.session.user.must_set_up_two_factor)


def account() -> Account:
    """The account of the session's user."""
    found: Account = g.session.user.account
    return found


def address() -> str:
    """The client's address."""
    return request.remote_addr or "unknown"


def form_token() -> str:
    """The CSRF token of forms, derived from a cookie that no other site can read."""
    if g.form_secret is None:
        g.form_secret = g.new_visitor = secrets.token_urlsafe(32)
    return _token(g.form_secret)


def safe_next(target: str) -> str:
    """The target after the sign-in: always a page of the dashboard. Scripts send its public path."""
    target = target.removeprefix(get_settings().public_path)
    is_plain = all("!" <= character <= "~" and character != "\\" for character in target)
    return target if is_plain and target.startswith(HOME) and "//" not in target else HOME


def _token(secret: str) -> str:
    return hashlib.sha256(f"form {secret}".encode("utf-8", "surrogatepass")).hexdigest()


def _is_our_form() -> bool:
    given = request.form.get(TOKEN_FIELD, "").encode(errors="replace")
    expected = "" if g.form_secret is None else _token(g.form_secret)
    return bool(expected) and hmac.compare_digest(given, expected.encode()) and _is_our_origin()


def _is_our_origin() -> bool:
    """True if the form is on one of our pages. Clients other than browsers send no origin."""
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    public = urlsplit(get_settings().public_url)
    # Behind a proxy the page's origin may be that of the public URL. The header is compared and never
    # parsed, because it may not be a URL.
    ours = f"{public.scheme}://{public.netloc}", f"http://{request.host}", f"https://{request.host}"
    return origin in ours


def _recorded(view: Callable[..., Response], rule: Rule) -> Callable[..., Response]:
    """The view, which writes a row for its change."""
    change = rule.change
    if change is None:
        return view

    @functools.wraps(view)
    def run(**named: str) -> Response:
        if request.method != "POST":
            return view(**named)
        g.audited, g.is_unchanged = {"subject": next(iter(named.values()), None)}, False
        with writing() if rule.is_atomic else nullcontext():
            response = view(**named)
            if response.status_code < CLIENT_ERROR and not g.is_unchanged:
                Audit.note(g.session.user, change, address(), **g.audited)
        return response

    return run


def about(subject: str | None = None, **detail: Any) -> None:
    """Set the details of the row: the changed resource if it is not in the URL, and values."""
    g.audited |= detail if subject is None else {"subject": subject, **detail}


def unchanged() -> None:
    """Write no row: nothing was changed, although the response is not an error."""
    g.is_unchanged = True

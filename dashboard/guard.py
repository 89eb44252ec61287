"""Checks before every page of the dashboard: session, role, second factor, the form's token, the rate limit.

The user is the actor of what a view changes (models.accounts.actor).
"""

import functools
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlsplit

from flask import Blueprint, Response, abort, current_app, g, request

from dashboard.cookies import SESSION, VISITOR, cookie
from gateway.settings import get_settings
from models.accounts.account import Account
from models.accounts.actor import SERVICE, acting
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from models.errors import RateLimitedError
from services.credentials import prove

# The edge looks up the session, because the rate limit needs the user too. It is above this package, so the
# application injects a function that reads the session from the request's WSGI environment.
EXTENSION = "session"
Look = Callable[[Mapping[str, Any]], UserSession | None]
# Likewise for the reason why a form is refused, if the account has made all requests of this minute.
REFUSAL = "refusal"
LookAtLimit = Callable[[Mapping[str, Any]], RateLimitedError | None]
HOME = "/dashboard/"
SIGN_IN = "/dashboard/sign-in"
SET_UP = "/dashboard/you/two-factor"
TOKEN_FIELD = "csrf_token"  # noqa: S105 - a field's name
PROOF_FIELD = "proof"


OWNERS = frozenset({Role.OWNER})
DEVELOPERS = OWNERS | {Role.DEVELOPER}
# Who may create and start broadcasts: one reaches thousands of people, and costs money.
BROADCASTERS = DEVELOPERS
AGENTS = DEVELOPERS | {Role.AGENT}
ALL = AGENTS | {Role.VIEWER}

View = TypeVar("View", bound=Callable[..., Response])


@dataclass(frozen=True)
class Rule:
    """The roles that may use a view. A public view needs no session, and ``from_anywhere`` no CSRF token.

    A view ``needs_proof`` if a stolen session must not be enough.

    ``change`` is the action of the row that a successful POST leaves in the audit log. It is None if the view
    changes nothing. ``form`` is the name of the view of the form, if that is not at the same path;
    its path has no parameters.
    """

    roles: frozenset[Role]
    change: str | None = None
    needs_proof: bool = False
    is_public: bool = False
    form: str | None = None
    from_anywhere: bool = False


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


class ProofError(Exception):
    """The form lacks the password again, or it is wrong."""


class GuardedBlueprint(Blueprint):
    """A blueprint whose views state their roles. A view that Flask's decorators add is refused to all."""

    def public(
        self, path: str, method: str = "GET", *, from_anywhere: bool = False
    ) -> Callable[[View], View]:
        """A view that needs no session. Mail programs post ``from_anywhere``: the path has a token."""
        return self._guarded(path, method, replace(PUBLIC, from_anywhere=from_anywhere))

    def page(self, path: str, roles: frozenset[Role]) -> Callable[[View], View]:
        """A view that changes nothing."""
        return self._guarded(path, "GET", Rule(roles))

    def action(
        self,
        path: str,
        roles: frozenset[Role],
        change: str,
        *,
        asks: bool = False,
        form: str | None = None,
        needs_proof: bool = False,
    ) -> Callable[[View], View]:
        """A view that changes something. The code that makes the change writes its row.

        A view that ``asks`` shows the page of dashboard.site.confirm() before it changes anything.
        """
        rule = Rule(roles, change, needs_proof=needs_proof, form=form)
        return self._guarded(path, "GET POST" if asks else "POST", rule)

    def _guarded(self, path: str, methods: str, rule: Rule) -> Callable[[View], View]:
        def add(view: View) -> View:
            RULES[view.__name__] = rule
            acting_view = _acting(view)
            self.add_url_rule(path, view_func=acting_view, methods=methods.split())
            return view

        return add


def check_request() -> Response | None:
    """Before each request: require the sign-in, check the role, the form's origin and the rate limit."""
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
    is_read = request.method in {"GET", "HEAD", "OPTIONS"}
    if not (is_read or rule.from_anywhere or _is_our_form()):
        abort(403)
    if refusal := cast("LookAtLimit", current_app.extensions[REFUSAL])(request.environ):
        raise refusal
    if rule.needs_proof and not is_read:
        _ask_for_proof()
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


def _acting(view: Callable[..., Response]) -> Callable[..., Response]:
    """The view with the user as the actor of its changes."""

    @functools.wraps(view)
    def run(**named: str) -> Response:
        user = g.session and g.session.user
        with acting(user.actor(address()) if user else replace(SERVICE, address=address())):
            return view(**named)

    return run


def _ask_for_proof() -> None:
    """Check the password in the form, if the last proof is old. Raises ProofError or TooManyAttemptsError."""
    typed = request.form.get(PROOF_FIELD, "")
    if g.session.needs_proof and not (typed and prove(g.session, typed, address())):
        raise ProofError

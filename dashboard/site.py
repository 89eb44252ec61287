"""The blueprint of /dashboard/, with the layout, navigation and paging of its pages.

A page module registers its views here; dashboard.urls imports them all.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import Response, abort, g, request, url_for

from dashboard import cookies, guard
from dashboard.pages import CACHE_CONTROL, render
from gateway.settings import get_settings

# View, label, group and icon (templates/icons.html). Paths below that of the view belong to the same section.
NAVIGATION = (
    ("overview", "Overview", "", "overview"),
    ("inbox", "Inbox", "Conversations", "inbox"),
    ("messages", "Messages", "Conversations", "message"),
    ("broadcasts", "Broadcasts", "Conversations", "broadcast"),
    ("contacts", "Contacts", "Conversations", "contact"),
    ("suppressions", "Suppressions", "Conversations", "bad"),
    ("live", "Live", "Developers", "live"),
    ("deliveries", "Deliveries", "Developers", "delivery"),
    ("webhooks", "Webhooks", "Developers", "webhook"),
    ("requests", "API requests", "Developers", "request"),
    ("keys", "API keys", "Developers", "key"),
    ("sandbox", "Sandbox", "Developers", "sandbox"),
    ("numbers", "Numbers", "Setup", "number"),
    ("links", "Signup links", "Setup", "link"),
    ("notifications", "Notifications", "Setup", "warn"),
    ("users", "Users", "Account", "users"),
    ("audit", "Audit log", "Account", "audit"),
    ("you", "Your account", "Account", "contact"),
)
SEARCH = "/dashboard/search"
# The length of a list's page: ``?page=2`` and so on, next to the URL's other parameters.
PER_PAGE = 50
MAX_PAGE = 1_000_000
Row = TypeVar("Row")

blueprint = guard.GuardedBlueprint(
    "dashboard",
    __name__,
    url_prefix="/dashboard",
    static_folder="static",
    static_url_path="/static",
)
blueprint.before_request(guard.check_request)


class FormError(Exception):
    """A form is refused. Its page is shown again with the text, the problems of fields, and what was typed.

    ``view`` is the view of the page, by default that of the form's URL.
    """

    def __init__(
        self,
        text: str = "",
        status: int = 422,
        *,
        problems: Mapping[str, str] | None = None,
        view: Callable[..., Response] | None = None,
    ) -> None:
        super().__init__(text)
        self.status, self.view = status, view
        self.shown = {"problem": text, "problems": problems or {}}


def show(template: str, status: int = 200, **values: Any) -> Response:
    """Render a page of the dashboard, with the account, the navigation and the CSRF token.

    After a FormError it also has the problem and what was typed.
    """
    said = cookies.cookie(cookies.FLASH) or ""
    response = render(
        f"dashboard/{template}",
        status,
        sources={"connect-src": "'self'"},
        headers={"Referrer-Policy": "same-origin"},
        form_token=guard.form_token(),
        navigation=[
            (url_for(f"dashboard.{view}"), *entry)
            for view, *entry in NAVIGATION
            if guard.may(view) and (view != "sandbox" or get_settings().uses_sandbox)
        ],
        may=guard.may,
        section=section(),
        search_path=SEARCH if g.session and guard.may("search") else "",
        before=request.args.get("before", ""),
        address_of=address_of,
        said=said,
        user=g.session.user if g.session else None,
        has_others=g.session is not None and g.session.has_others,
        needs_proof=g.session is not None and g.session.needs_proof,
        **{"typed": request.form, "problem": "", "problems": {}, **g.get("refused", {}), **values},
    )
    if said:
        cookies.clear_cookie(response, cookies.FLASH)
    if "new_visitor" in g:
        cookies.set_cookie(response, cookies.VISITOR, g.new_visitor)
    return response


def go(path: str, say: str | None = None) -> Response:
    """Redirect after a change to a page that shows ``say``, a name in templates/dashboard/said.html."""
    response = guard.redirect(path)
    if say is not None:
        cookies.set_cookie(response, cookies.FLASH, say)
    return response


def confirm(question: str, name: str = "", *, back: str) -> Response | None:
    """The page that asks before an action (templates/dashboard/confirm.html). None once it is confirmed.

    The page posts to its own URL.
    """
    if request.method == "POST":
        return None
    return show("confirm.html", question=question, name=name, back=back)


def existing(row: Row | None) -> Row:
    """The row. Ends the request with a 404 page if it is None."""
    return row if row is not None else abort(404)


def mine(row: Row | None) -> Row:
    """The row if it is of the session's account. Another account's row is a 404, like a missing one."""
    owned: Any = existing(row)
    return existing(row if owned.account_id == guard.account().id else None)


def page_number() -> int:
    """The page number in the URL, from 1."""
    asked = request.args.get("page", 1, type=int)
    return asked if 1 <= asked < MAX_PAGE else 1


def offset() -> int:
    """The number of rows before this page."""
    return (page_number() - 1) * PER_PAGE


def address_of(**changed: object) -> str:
    """The URL of this page with other parameters, and the same filters. An empty value removes one."""
    kept = {name: value for name, value in (request.args.to_dict() | changed).items() if value}
    query = f"?{urlencode(kept, errors='replace')}" if kept else ""
    return f"{get_settings().public_path}{request.path}{query}"


def section() -> str:
    """The path of this page's navigation entry."""
    return "/".join(request.path.split("/")[:3])


@blueprint.after_request
def guard_answer(response: Response) -> Response:
    """Set the headers of static files and redirects."""
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault(
        "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"
    )
    if request.endpoint == "dashboard.static":
        # The URL changes with the content.
        response.headers["Cache-Control"] = CACHE_CONTROL
    return response

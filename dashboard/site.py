"""The blueprint of /dashboard/, with the layout, navigation and flash messages of its pages.

A page module registers its views here; dashboard.urls imports them all.
"""

from typing import Any

from flask import Response, abort, g, request

from dashboard import cookies, guard
from dashboard.assets import CACHE_CONTROL
from dashboard.pages import CONTENT_TYPE, render
from dashboard.paging import address_of, page_number
from gateway.settings import get_settings

# Path, label, group and icon (templates/icons.html). Paths below belong to the same section.
NAVIGATION = (
    ("/dashboard/", "Overview", "", "overview"),
    ("/dashboard/inbox", "Inbox", "Conversations", "inbox"),
    ("/dashboard/messages", "Messages", "Conversations", "message"),
    ("/dashboard/contacts", "Contacts", "Conversations", "contact"),
    ("/dashboard/live", "Live", "Developers", "live"),
    ("/dashboard/deliveries", "Deliveries", "Developers", "delivery"),
    ("/dashboard/webhooks", "Webhooks", "Developers", "webhook"),
    ("/dashboard/requests", "API requests", "Developers", "request"),
    ("/dashboard/keys", "API keys", "Developers", "key"),
    ("/dashboard/sandbox", "Sandbox", "Developers", "sandbox"),
    ("/dashboard/numbers", "Numbers", "Setup", "number"),
    ("/dashboard/links", "Signup links", "Setup", "link"),
    ("/dashboard/notifications", "Notifications", "Setup", "warn"),
    ("/dashboard/users", "Users", "Account", "users"),
    ("/dashboard/audit", "Audit log", "Account", "audit"),
    ("/dashboard/you", "Your account", "Account", "contact"),
)
SEARCH = "/dashboard/search"
# Only with the sandbox as the network.
SANDBOX = "/dashboard/sandbox"
# A flash cookie holds one of these names, so a forged cookie cannot show other texts.
SAID = {
    "contact-erased": (
        "The contact is erased. If it has thousands of messages, the rest are removed within minutes."
    ),
    "invitation-withdrawn": "The invitation is withdrawn. Its link no longer works.",
    "key-revoked": "The key is revoked. Requests with it are refused.",
    "link-created": "The signup link is ready. Send it to the number's owner.",
    "link-revoked": "The signup link is revoked.",
    "link-used": "The signup link had been used in the meantime, so nothing was revoked.",
    "note-saved": "The note is saved.",
    "notifications-saved": "The notifications are saved.",
    "opted-in": "This person gets marketing again.",
    "opted-out": "This person gets no marketing any more.",
    "password-changed": "The password is changed. All other sessions have ended.",
    "password-reset": "The password is changed. Sign in with it.",
    "redeliveries-full": (
        "The oldest 10,000 deliveries are scheduled, the maximum for one request. This page offers the rest."
    ),
    "redeliveries-scheduled": "The redelivery is scheduled. The worker takes the oldest first.",
    "redelivery-scheduled": "The redelivery is scheduled.",
    "reply-sent": "The message is sent. Its state is shown beside it.",
    "role-changed": "The role is changed. It applies from the next page on.",
    "session-revoked": "The session has ended.",
    "sessions-revoked": "All other sessions have ended.",
    "sign-in-again": "The sign-in took too long. Begin again.",
    "signed-out": "You are signed out.",
    "two-factor-off": "Two-factor authentication is off. The password alone signs you in.",
    "user-removed": "The user is removed, and their sessions have ended.",
    "webhook-changed": "The webhook is changed. The change holds for all new attempts.",
    "webhook-deleted": "The webhook is deleted, with its deliveries.",
    "webhook-off": "The webhook is disabled. Waiting deliveries are stored as skipped.",
    "webhook-on": "The webhook is enabled. It gets new events from now on.",
    "words-saved": "The words are saved. They apply to messages from now on.",
}

blueprint = guard.GuardedBlueprint(
    "dashboard",
    __name__,
    url_prefix="/dashboard",
    static_folder="static",
    static_url_path="/static",
)
blueprint.before_request(guard.check_request)


def show(template: str, status: int = 200, **values: Any) -> Response:
    """Render a page of the dashboard, with the account, the navigation and the CSRF token."""
    said = cookies.cookie(cookies.FLASH) or ""
    page = render(
        f"dashboard/{template}",
        status,
        sources={"connect-src": "'self'"},
        headers={"Referrer-Policy": "same-origin"},
        form_token=guard.form_token(),
        navigation=[entry for entry in NAVIGATION if _is_shown(entry[0])],
        may=guard.may,
        section=section(),
        search_path=SEARCH,
        page=page_number(),
        address_of=address_of,
        said=SAID.get(said),
        user=g.session.user if g.session else None,
        **values,
    )
    response = Response(page.body, page.status, page.headers, content_type=CONTENT_TYPE)
    if said:
        cookies.clear_cookie(response, cookies.FLASH)
    if "new_visitor" in g:
        cookies.set_cookie(response, cookies.VISITOR, g.new_visitor)
    return response


def _is_shown(path: str) -> bool:
    """True if the navigation has this page. Its view has the name of its path."""
    view = path.removeprefix(guard.HOME) or "overview"
    return guard.may(view) and (path != SANDBOX or get_settings().uses_sandbox)


def go(path: str, say: str | None = None) -> Response:
    """Redirect after a change to a page that shows ``say``, a key of SAID."""
    response = guard.redirect(path)
    if say is not None:
        cookies.set_cookie(response, cookies.FLASH, say)
    return response


def confirm(*, title: str, text: str, action: str, back: str, destroys: bool = True) -> Response:
    """The confirmation page of an important action. It posts to its own URL."""
    return show("confirm.html", title=title, text=text, action=action, back=back, destroys=destroys)


def existing(row: Any) -> Any:
    """The row. Ends the request with a 404 page if it is None."""
    return row if row is not None else abort(404)


def mine(row: Any) -> Any:
    """The row if it is of the session's account. Another account's row is a 404, like a missing one."""
    return existing(row if row is not None and row.account_id == guard.account().id else None)


def section() -> str:
    """The path of this page's navigation entry."""
    return "/".join(request.path.split("/")[:3])


@blueprint.after_request
def guard_answer(response: Response) -> Response:
    """Set the headers of static files and redirects."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault(
        "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"
    )
    if request.endpoint == "dashboard.static":
        # The URL changes with the content.
        response.headers["Cache-Control"] = CACHE_CONTROL
    else:
        response.headers.setdefault("Cache-Control", "no-store")
    return response

"""Errors outside the views, as pages: paths that people open never return JSON."""

from collections.abc import Mapping

from dashboard.pages import RenderedPage, render
from dashboard.signup_results import Next, Outcome

PREFIX = "/connect/"
DASHBOARD = "/dashboard"
_ELSE = ("This did not work", "Open the link again from the message it came in.")
_DASHBOARD_ELSE = ("This did not work", "Nothing was changed.")
_NOTHING_HERE = (
    "There is nothing here",
    "It may have been removed, or the address is not complete.",
)
_DASHBOARD_WORDS = {
    403: (
        "This form has expired",
        "Nothing was changed. Go back, reload the page, and send the form again.",
    ),
    404: _NOTHING_HERE,
    405: _NOTHING_HERE,
    413: (
        "This is too large",
        (
            "Nothing was changed. A file may have at most 100 MiB, a form without a file 1 MiB."
            " Go back and send less."
        ),
    ),
    429: ("Too many requests", "Wait a minute, then load this page again."),
    500: ("Something went wrong on our side", "Load this page again in a moment."),
}
_WORDS = {
    404: ("There is nothing here", "Open the link again from the message it came in."),
    405: ("There is nothing here", "Open the link again from the message it came in."),
    413: (
        "This form is invalid",
        "It is too large. Nothing was changed. Open the link again from the message it came in.",
    ),
    429: ("Too many requests", "Wait a minute, then load this page again."),
    500: (
        "Something went wrong on our side",
        "Load this page again to continue.",
    ),
}


def is_page(path: str) -> bool:
    """True if people open this path."""
    return path.startswith(PREFIX) or _is_dashboard(path)


def _is_dashboard(path: str) -> bool:
    return f"{path}/".startswith(f"{DASHBOARD}/")


def error_page(status: int, headers: Mapping[str, str], path: str = PREFIX) -> RenderedPage:
    """The page of an HTTP error, with the headers of its status (Allow, Retry-After)."""
    if _is_dashboard(path):
        title, text = _DASHBOARD_WORDS.get(status, _DASHBOARD_ELSE)
        headers = {"Referrer-Policy": "same-origin", **headers}
        return render("dashboard/error.html", status, headers=headers, title=title, text=text)
    title, text = _WORDS.get(status, _ELSE)
    outcome = Outcome("error", status, title, (text,), Next.NOTHING, dict(headers))
    return render(
        "connect/outcome.html", status, headers=headers, outcome=outcome, slug="", fields={}
    )

"""Errors from below or around the views, as pages: paths that people open never answer in JSON."""

from collections.abc import Mapping

from dashboard.outcomes import Next, Outcome
from dashboard.pages import Page, render

PREFIX = "/connect/"
ALLOWED, METHOD_NOT_ALLOWED = "GET, HEAD, OPTIONS, POST", 405
_ELSE = ("This did not work", "Open the link again from the message it came in.")
_WORDS = {
    404: ("There is nothing here", "Open the link again from the message it came in."),
    405: ("There is nothing here", "Open the link again from the message it came in."),
    413: ("This is not what our page sends", "It is far too large. Nothing was done with it."),
    429: ("Too many requests", "Wait a minute, then load this page again."),
    500: (
        "Something went wrong on our side",
        "Nothing was done that cannot be gone on with. Load this page again.",
    ),
}


def is_page(path: str) -> bool:
    """Whether people open this path."""
    return path.startswith(PREFIX)


def error_page(status: int, headers: Mapping[str, str]) -> Page:
    """The page of an HTTP error, with the headers that its status brings (Allow, Retry-After)."""
    title, text = _WORDS.get(status, _ELSE)
    # On the way out of Flask the header of a 405 gets lost.
    headers = {**({"Allow": ALLOWED} if status == METHOD_NOT_ALLOWED else {}), **headers}
    outcome = Outcome("error", status, title, (text,), Next.NOTHING, headers)
    return render(
        "connect/outcome.html", status, headers=headers, outcome=outcome, slug="", fields={}
    )

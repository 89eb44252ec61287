"""The cookies of the dashboard: who is signed in, which form a visitor was given, what to say next.

All are HttpOnly and SameSite=Lax: a link from elsewhere opens the page, a form from elsewhere does not
post. Where the service is public by https they are Secure, and their prefix keeps other hosts from
setting them.
"""

from flask import Response
from werkzeug.http import parse_cookie

from gateway.settings import get_settings

SESSION, VISITOR, FLASH = "session", "visitor", "flash"


def _is_https() -> bool:
    return get_settings().public_url.startswith("https://")


def cookie_name(kind: str) -> str:
    """The name of SESSION, VISITOR or FLASH, as it stands in the header."""
    return f"{'__Host-' if _is_https() else ''}gateway_{kind}"


def set_cookie(response: Response, kind: str, value: str) -> None:
    """Set a cookie until the browser closes, or until its other end says that it is void."""
    response.set_cookie(
        cookie_name(kind), value, path="/", secure=_is_https(), httponly=True, samesite="Lax"
    )


def clear_cookie(response: Response, kind: str) -> None:
    """Have the browser forget a cookie."""
    response.delete_cookie(
        cookie_name(kind), path="/", secure=_is_https(), httponly=True, samesite="Lax"
    )


def session_token(header: str) -> str | None:
    """The session's token in a request's header Cookie, for who stands outside of Flask."""
    # Flask's own: linear in the header's length, unlike http.cookies.
    return parse_cookie(header).get(cookie_name(SESSION))

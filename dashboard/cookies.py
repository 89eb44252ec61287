"""The cookies of the dashboard: session, pending sign-in, visitor (CSRF), flash message and known device.

All are HttpOnly and SameSite=Lax: links of other sites open a page, but their forms cannot post. With a
public https URL they are also Secure, and their name has a prefix that stops other hosts from setting
them. If that URL has a path, they are limited to it, so other applications of the host do not get them. The
prefix for that stops only pages without https.
"""

from typing import Any

from flask import Response, request

from gateway.settings import get_settings

SESSION, PENDING, VISITOR, FLASH, DEVICE = "session", "pending", "visitor", "flash", "device"


def _attributes() -> dict[str, Any]:
    settings = get_settings()
    return {
        "path": f"{settings.public_path}/",
        "secure": settings.has_secure_cookies,
        "httponly": True,
        "samesite": "Lax",
    }


def cookie_name(kind: str) -> str:
    """The name in the header of SESSION, PENDING, VISITOR, FLASH or DEVICE."""
    # Browsers accept the prefix __Host- only with the path "/".
    prefix = "__Secure-" if get_settings().public_path else "__Host-"
    return f"{prefix if get_settings().has_secure_cookies else ''}gateway_{kind}"


def set_cookie(response: Response, kind: str, value: str, seconds: int | None = None) -> None:
    """Set a cookie for a time, or until the browser closes. The server may end its session earlier."""
    response.set_cookie(cookie_name(kind), value, max_age=seconds, **_attributes())


def clear_cookie(response: Response, kind: str) -> None:
    """Delete a cookie in the browser."""
    response.delete_cookie(cookie_name(kind), **_attributes())


def cookie(kind: str) -> str | None:
    """The value of SESSION, PENDING, VISITOR, FLASH or DEVICE in the request that Flask serves."""
    return _value(request.headers.get("Cookie", ""), kind)


def session_token(header: str) -> str | None:
    """The session's token in a request's header Cookie, outside of Flask."""
    return _value(header, SESSION)


def _value(header: str, kind: str) -> str | None:
    """Our values are never quoted. Unescaping would take milliseconds for 30 KB of escapes."""
    name = cookie_name(kind)
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    return next((value for key, _, value in pairs if key == name), None)

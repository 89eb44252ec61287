"""The client's address and browser, for sessions and the audit log."""

from flask import g, request

from models.accounts.sign_in import Client

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


def client() -> Client:
    """The address and browser of the current request."""
    browser = shortened(request.headers.get("User-Agent", ""))
    return Client(address(), browser, g.form_secret or "")


def address() -> str:
    """The client's address."""
    return request.remote_addr or "unknown"


def shortened(agent: str) -> str:
    """The browser and system of a User-Agent header, such as ``Firefox on Linux``."""
    browser = next((name for sign, name in _BROWSERS if sign in agent), "Unknown browser")
    system = next((name for sign, name in _SYSTEMS if sign in agent), None)
    return f"{browser} on {system}" if system else browser

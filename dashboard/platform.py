"""The platform's settings for the signup page: its SDK, and the origin of its window messages.

Source: Cloud API, Embedded signup, Implementation. The sandbox serves its own SDK with the same
interface, so the page has a single code path (docs/decisions/0020).
"""

from dataclasses import dataclass

from gateway.settings import Settings

SDK_PATH = "/en_US/sdk.js"
SDK_ORIGIN = "https://connect.facebook.net"
SITE = "https://facebook.com"
# Origins of the frames and requests of the platform's SDK during a login.
SITES = "https://www.facebook.com https://web.facebook.com"
FRAMES = f"{SITES} https://staticxx.facebook.com"


@dataclass(frozen=True)
class Platform:
    """``site`` is the origin of the window messages. ``subdomains`` accepts its subdomains too.

    ``sources`` are the page's additions to the Content-Security-Policy.
    """

    sdk: str
    site: str
    subdomains: bool
    app_id: str
    config_id: str
    version: str
    sources: dict[str, str]


def platform_of(settings: Settings) -> Platform:
    """The platform that the settings name: the real one, or the sandbox on this machine."""
    sandbox = settings.uses_sandbox
    origin = settings.network_url if sandbox else SDK_ORIGIN
    sources = {"script-src": origin}
    if not sandbox:
        sources |= {"connect-src": SITES, "frame-src": FRAMES, "img-src": SITES}
    return Platform(
        sdk=origin + SDK_PATH,
        site=settings.network_url if sandbox else SITE,
        subdomains=not sandbox,
        app_id=settings.network_app_id,
        config_id=settings.network_config_id,
        version=settings.network_version,
        sources=sources,
    )

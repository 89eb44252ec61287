"""Checks whether this is production: the reason, what follows from it, and the public address."""

from gateway.keys import MIN_KEY
from gateway.ops.doctor import ProblemError, WarningError
from gateway.settings import Settings


def check_production(settings: Settings) -> str:
    """The defaults are those that the addresses call for. Lists each of them."""
    reason = settings.production_reason
    head = "No: it is reached from this machine only." if reason is None else f"Yes: {reason}"
    listed = "\n".join([head, *(f"{name}: {value}." for name, value in defaults(settings).items())])
    if settings.is_production and settings.allow_local_webhooks:
        raise WarningError(
            listed, "Remove GATEWAY_ALLOW_LOCAL_WEBHOOKS: webhooks can read services here."
        )
    return listed


def defaults(settings: Settings) -> dict[str, str]:
    """Everything that depends on whether this is production, and its value here."""
    strict = settings.is_production
    return {
        "Webhooks to this machine": "allowed" if settings.allow_local_webhooks else "refused",
        "Secret key": f"at least {MIN_KEY} characters" if strict else "any",
        "The sandbox's secrets": "refused" if strict else "accepted",
        "Demo account": "none" if strict else "made by gateway up",
        "Sandbox": f"only at port {settings.sandbox_port}" if strict else "any loopback address",
        "Cookies": "https only" if settings.has_secure_cookies else "http too",
    }


def check_public_url(settings: Settings) -> str:
    """The platform can call the address."""
    url = settings.public_url
    if settings.is_production and not settings.has_secure_cookies:
        raise ProblemError(
            f"{url} is not https; the network calls https only.",
            "Set GATEWAY_PUBLIC_URL to the https address of the proxy.",
        )
    return url

"""The blueprint of /dashboard/ with the views of all page modules, and pages that are only a template."""

from flask import Response, abort

from dashboard import (  # noqa: F401 - importing a module registers its views
    audit,
    broadcast_wizard,
    broadcasts,
    contacts,
    deliveries,
    delivery,
    error_pages,
    inbox,
    keys,
    links,
    messages,
    notifications,
    numbers,
    overview,
    receiving,
    requests,
    search,
    signing_in,
    single_use_links,
    suppressions,
    users,
    webhooks,
    you,
)
from dashboard.guard import ALL, DEVELOPERS, HOME, RULES
from dashboard.site import blueprint, go, show
from gateway.settings import get_settings
from webhooks.kinds import EventKind

__all__ = ["RULES", "blueprint"]


@blueprint.public("")
def to_home() -> Response:
    """Redirect from ``/dashboard``."""
    return go(HOME)


@blueprint.page("/live", ALL)
def live() -> Response:
    """Events and attempts as they happen. The page's script reads a stream (gateway.http.endpoints)."""
    return show("live.html", kinds=[*EventKind], is_sandbox=get_settings().uses_sandbox)


@blueprint.page("/sandbox", DEVELOPERS)
def sandbox() -> Response:
    """Links to the phones and controls of the sandbox. A 404 page with another network."""
    settings = get_settings()
    if not settings.uses_sandbox:
        abort(404)
    return show("sandbox.html", sandbox=settings.network_url)

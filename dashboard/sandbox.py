"""/dashboard/sandbox: where the sandbox's own pages are, while the network is one on this machine."""

from flask import Response, abort

from dashboard.site import blueprint, show
from gateway.settings import get_settings


@blueprint.get("/sandbox")
def sandbox() -> Response:
    """Links to the phones and the controls. With another network there is no such page."""
    settings = get_settings()
    if not settings.uses_sandbox:
        abort(404)
    return show("sandbox.html", sandbox=settings.network_url)

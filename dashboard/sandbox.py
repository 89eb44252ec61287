"""/dashboard/sandbox: links to the sandbox's pages, if the network is a sandbox on this machine."""

from flask import Response, abort

from dashboard.site import blueprint, show
from gateway.settings import get_settings


@blueprint.get("/sandbox")
def sandbox() -> Response:
    """Links to the phones and the controls. A 404 page with another network."""
    settings = get_settings()
    if not settings.uses_sandbox:
        abort(404)
    return show("sandbox.html", sandbox=settings.network_url)

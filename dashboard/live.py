"""/dashboard/live: events and attempts as they happen. Its script reads a stream (gateway.http.live)."""

from flask import Response

from dashboard.site import blueprint, show
from gateway.settings import get_settings
from webhooks.kinds import EventKind


@blueprint.get("/live")
def live() -> Response:
    """The page, which is empty until something happens."""
    return show("live.html", kinds=[*EventKind], is_sandbox=get_settings().uses_sandbox)

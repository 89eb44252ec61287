"""All of /dashboard/: the blueprint with every page module's views on it."""

from flask import Response

from dashboard import keys, links, numbers, overview, signing_in
from dashboard.site import blueprint, go

PAGES = (overview, numbers, keys, links, signing_in)

__all__ = ["PAGES", "blueprint"]


@blueprint.get("")
def to_home() -> Response:
    """``/dashboard``, as people type it."""
    return go("/dashboard/")

"""The page for an unavailable database. It keeps the layout and can be reloaded."""

import logging

from flask import Response, g, request
from peewee import DatabaseError, IntegrityError, InterfaceError

from dashboard.site import blueprint, section, show

logger = logging.getLogger(__name__)

RETRY_AFTER = 5


@blueprint.errorhandler(DatabaseError)
@blueprint.errorhandler(InterfaceError)
def show_broken(error: Exception) -> Response:
    """A 503 page in the layout, with the navigation if the session is known."""
    if isinstance(error, IntegrityError):
        # The database answered, so the query is wrong: a bug.
        raise error
    logger.error("a page could not be loaded", exc_info=error)
    if "session" not in g:
        # The session itself could not be read.
        g.session = g.form_secret = None
    is_read = request.method in {"GET", "HEAD"}
    again = request.full_path.rstrip("?") if is_read else section()
    response = show("broken.html", 503, is_read=is_read, again=again)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    return response

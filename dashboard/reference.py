"""The API reference: /api/ui/ to try it (Swagger UI), /api/docs/ to read it (Redoc); also ``/``.

tooling/vendor.py fetches the two libraries. Both pages load the contract from this service. Errors link
to /api/errors/, which explains their codes.
"""

from flask import Blueprint, Response, request

from dashboard import guard
from dashboard.pages import render
from resources.error import STATUS

_UNFRAMED = {"X-Frame-Options": "DENY"}
_FETCH = {"connect-src": "'self'"}
_REDOC = {
    **_FETCH,
    # Redoc's search runs in a worker whose script is a string in Redoc's script.
    "worker-src": "blob:",
    # Redoc's styles support no nonce: a script fills an empty element, and its scroll bars.
    "style-src": "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='",
}

blueprint = Blueprint("reference", __name__)


@blueprint.get("/api/ui/")
def swagger_ui() -> Response:
    """Every operation, with a form to try it."""
    return _show("reference/swagger-ui.html", _FETCH)


@blueprint.get("/api/docs/")
def redoc() -> Response:
    """Every operation to read, with examples next to the text."""
    return _show("reference/redoc.html", _REDOC)


@blueprint.get("/api/errors/")
def errors() -> Response:
    """What each code means, and what to do."""
    return render("reference/errors.html", headers=_UNFRAMED, codes=STATUS)


@blueprint.get("/api/ui")
@blueprint.get("/api/docs")
@blueprint.get("/api/errors")
def to_folder() -> Response:
    """Redirect from the path without a slash. The relative URL works below any path."""
    return Response(status=308, headers={"Location": f"{request.path.rpartition('/')[2]}/"})


@blueprint.get("/")
def to_dashboard() -> Response:
    """Redirect the bare host to the dashboard."""
    return guard.redirect(guard.HOME)


def _show(template: str, sources: dict[str, str]) -> Response:
    return render(template, sources=sources, headers=_UNFRAMED)

"""The pages of the contract, /api/ui/ to try it (Swagger UI) and /api/docs/ to read it (Redoc); also ``/``.

tooling/vendor.py fetches the two libraries. Both pages take the contract from the service that shows them.
"""

from flask import Blueprint, Response, request

from dashboard.pages import CONTENT_TYPE, render

_FETCH = {"connect-src": "'self'"}
_REDOC = {
    **_FETCH,
    # Its search runs in a worker whose script is a text within its own.
    "worker-src": "blob:",
    # Its styles take no nonce: an element that is empty and filled by script, and its scroll bars.
    "style-src": "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='",
}

blueprint = Blueprint("reference", __name__)


@blueprint.get("/api/ui/")
def swagger_ui() -> Response:
    """Every operation, to be tried."""
    return _show("reference/swagger-ui.html", _FETCH)


@blueprint.get("/api/docs/")
def redoc() -> Response:
    """The same to read, with examples beside the text."""
    return _show("reference/redoc.html", _REDOC)


@blueprint.get("/api/ui")
@blueprint.get("/api/docs")
def to_folder() -> Response:
    """As people type it. A relative address holds behind a proxy that adds to the path."""
    return Response(status=308, headers={"Location": f"{request.path.rpartition('/')[2]}/"})


@blueprint.get("/")
def to_dashboard() -> Response:
    """Redirect the bare host to the dashboard."""
    return Response(status=303, headers={"Location": "dashboard/"})


def _show(template: str, sources: dict[str, str]) -> Response:
    page = render(template, sources=sources, headers={"X-Frame-Options": "DENY"})
    return Response(page.body, page.status, page.headers, content_type=CONTENT_TYPE)

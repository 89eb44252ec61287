"""What a request asks for, found once at the door: one Operation for each of the contract, and for each page.

Everything that treats requests differently by their target reads it from the scope: the limits of size and
rate, the places for media, the line of the log, the name of a span. Connexion's routers would name only the
methods of the first route that fits a path in ``Allow``, and would take ``GET /messages/send`` for a message
called "send". So a path or method that the contract does not have is refused here, and they never see it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map, RequestRedirect, Rule

from gateway.http.bodies import MEBIBYTE

# Where an Operation stands in the scope of a request.
KEY = "gateway.operation"
METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"})
CALLBACK = "/network/callback"
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


@dataclass(frozen=True)
class Operation:
    """The target of a request.

    ``route`` is the template of its path, which logs and spans show in place of the path. ``body_limit`` is
    in bytes; one that ``streams_body`` reads it by itself. A ``transfer`` moves media. One that is not
    ``metered`` is not counted, and one that is not ``logged`` has no line. ``refusal`` says why there is no
    such operation.
    """

    route: str
    is_page: bool = False
    takes_body: bool = True
    body_limit: int = MEBIBYTE
    streams_body: bool = False
    transfer: bool = False
    metered: bool = True
    logged: bool = True
    refusal: HTTPException | None = None


NOWHERE = "*"
UNKNOWN_PAGE = Operation(NOWHERE, is_page=True)
NOT_FOUND = Operation(NOWHERE, refusal=HTTPException(404))
# A document at its largest, and the multipart form around it.
UPLOAD_LIMIT = 100 * MEBIBYTE + 64 * 1024
_SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "uploadMedia": {"transfer": True, "streams_body": True, "body_limit": UPLOAD_LIMIT},
    "downloadMedia": {"transfer": True},
}


class Operations:
    """The operations of ``contract`` below ``base``, and the pages beside it by Flask's ``rules``."""

    def __init__(self, contract: Mapping[str, Any], base: str, rules: Iterable[str]) -> None:
        self._base = base
        self._pages = {rule: _page(rule) for rule in (*rules, CALLBACK)}
        self._contract = {
            base + path: _by_method(base + path, i) for path, i in contract["paths"].items()
        }
        # Without methods: a concrete path wins over a template, whatever the method.
        found = [
            Rule(path.replace("{", "<").replace("}", ">"), endpoint=path)
            for path in (*self._pages, *self._contract)
        ]
        self._paths = Map(found, merge_slashes=False).bind("")

    def find(self, method: str, path: str) -> Operation:
        """The target of a request. One of the contract may be refused: 404, or 405 with the methods it has.

        A page is not: Flask knows its methods, and has a page for what does not exist.
        """
        try:
            found, _ = self._paths.match(path)
        except (NotFound, RequestRedirect):
            is_ours = f"{path}/".startswith(f"{self._base}/") or "//" in path
            return NOT_FOUND if is_ours else UNKNOWN_PAGE
        if (operations := self._contract.get(found)) is None:
            return self._pages[found]
        if method not in operations:
            allowed = ", ".join(sorted(operations))
            return Operation(found, refusal=HTTPException(405, headers={"Allow": allowed}))
        return operations[method]


def _by_method(route: str, item: Mapping[str, Any]) -> dict[str, Operation]:
    operations = {
        method: _operation(route, item[method.lower()])
        for method in METHODS
        if method.lower() in item
    }
    if "GET" in operations:
        operations["HEAD"] = operations["GET"]
    return operations


def _operation(route: str, described: Mapping[str, Any]) -> Operation:
    special = _SPECIAL.get(described["operationId"], {})
    return Operation(route, takes_body="requestBody" in described, **special)


def _page(rule: str) -> Operation:
    if rule == CALLBACK:
        return Operation(rule, is_page=True, metered=False, body_limit=4 * MEBIBYTE)
    return Operation(rule, is_page=True, metered=rule not in PROBES, logged=rule not in PROBES)

"""The target of a request: an operation of the contract, or a page.

The edge finds it once. Everything else reads it from the scope: the limits of size and rate, the places for
media, the line of the log, the name of a span, and Connexion, which calls its handler.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from starlette.exceptions import HTTPException

from dashboard.urls import RULES
from models.accounts.user import Role

# Where the Operation of a request is in its scope, and its whole body, unless the handler reads that.
KEY, BODY = "gateway.operation", "gateway.body"
METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"})
# The path of the contract's servers.
BASE = "/api"
CALLBACK = "/network/callback"
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
STREAM = "streamEvents"
# The path of the event stream for users of the dashboard.
LIVE = "/dashboard/live/stream"
# Of the view reply_with_media.
REPLY_WITH_MEDIA = "/dashboard/inbox/<contact_id>/media"
# Of the view import_suppressions.
IMPORT_SUPPRESSIONS = "/dashboard/suppressions/import"
# Of the view upload_recipients.
UPLOAD_RECIPIENTS = "/dashboard/broadcasts/new"
TRANSFERS = frozenset({"uploadMedia", "downloadMedia", "importSuppressions", "uploadRecipients"})
# They wait for the network or for a name server, possibly for seconds.
WAIT_FOR_OTHERS = TRANSFERS | {
    *("sendMessage", "markMessageRead", STREAM, "testWebhook", "createWebhook", "updateWebhook"),
    *("getNumberProfile", "updateNumberProfile", "listBlocked", "blockPeople", "unblockPerson"),
    *("listTemplates", "createTemplate", "deleteTemplate", "completeSignup"),
    *("updateTemplate", "refreshTemplates", "createBroadcast", "testBroadcast"),
}
MEBIBYTE = 1024 * 1024
# The largest document, and the multipart form around it.
UPLOAD_LIMIT = 100 * MEBIBYTE + 64 * 1024
CALLBACK_LIMIT = 4 * MEBIBYTE
# A larger body is parsed in a thread, which costs less than it would block the event loop. Copies of it
# take significant memory.
LARGE_BODY = 64 * 1024


class Part(Enum):
    """The part of the application that handles a request.

    Callbacks and probes have no rate limit. Probes are not logged. Pages that take files have separate
    threads, so that slow uploads block no other page. The event stream of the pages has none.
    """

    API = auto()
    CALLBACK = auto()
    PROBES = auto()
    PAGES = auto()
    UPLOADS = auto()
    LIVE = auto()


@dataclass(frozen=True)
class Operation:
    """The target of a request.

    ``name`` is the operationId, empty beside the contract. ``public`` is without a key. ``route`` is the
    template of its path, which logs and spans show instead of the path. ``body_limit`` is in bytes; with
    ``roles`` it is that of users who have one of them, and MEBIBYTE is that of everybody else. A ``transfer``
    moves media. A ``stream`` has no end. Those ``by_turns`` need only the database, and an account has
    few at a time. A key needs the ``scope``. One that is limited to numbers reaches nothing
    ``account_wide``. ``refusal`` says why there is no such operation.
    """

    route: str
    part: Part = Part.API
    takes_body: bool = True
    body_limit: int = MEBIBYTE
    transfer: bool = False
    stream: bool = False
    by_turns: bool = False
    refusal: HTTPException | None = None
    name: str = ""
    public: bool = False
    scope: str = ""
    account_wide: bool = False
    roles: frozenset[Role] | None = None


UNKNOWN = "*"
UNKNOWN_PAGE = Operation(UNKNOWN, Part.PAGES)
# The pages that take a file, by their routes and the names of their views.
UPLOADS = {
    route: Operation(
        route,
        Part.UPLOADS,
        body_limit=UPLOAD_LIMIT,
        transfer=True,
        roles=RULES[view].roles,
    )
    for route, view in (
        (REPLY_WITH_MEDIA, "reply_with_media"),
        (IMPORT_SUPPRESSIONS, "import_suppressions"),
        (UPLOAD_RECIPIENTS, "upload_recipients"),
    )
}
NOT_FOUND = Operation(UNKNOWN, refusal=HTTPException(404))


def of_contract(contract: Mapping[str, Any]) -> dict[str, dict[str, Operation]]:
    """The operations of a contract, by path and method."""
    return {
        BASE + path: _by_method(BASE + path, item, contract["security"])
        for path, item in contract["paths"].items()
    }


def of_pages(rules: Iterable[str]) -> dict[str, Operation]:
    """What is beside the contract, by Flask's rules."""
    return {rule: _page(rule) for rule in (*rules, CALLBACK)}


def _by_method(route: str, item: Mapping[str, Any], security: Any) -> dict[str, Operation]:
    operations = {
        method: _operation(route, {"security": security} | item[method.lower()])
        for method in METHODS
        if method.lower() in item
    }
    if "GET" in operations:
        operations["HEAD"] = operations["GET"]
    return operations


def _operation(route: str, described: Mapping[str, Any]) -> Operation:
    takes_body, name = "requestBody" in described, described["operationId"]
    transfer = name in TRANSFERS
    limit = UPLOAD_LIMIT if transfer and takes_body else MEBIBYTE
    return Operation(
        route,
        takes_body=takes_body,
        body_limit=limit,
        transfer=transfer,
        stream=name == STREAM,
        by_turns=name not in WAIT_FOR_OTHERS,
        name=name,
        public=described["security"] == [],
        scope=described.get("x-scope", ""),
        account_wide=described.get("x-account-wide", False),
    )


def _page(rule: str) -> Operation:
    if rule == CALLBACK:
        return Operation(rule, Part.CALLBACK, body_limit=CALLBACK_LIMIT)
    if rule == LIVE:
        return Operation(rule, Part.LIVE, stream=True)
    if rule in PROBES:
        return Operation(rule, Part.PROBES)
    return Operation(rule, Part.PAGES, by_turns=True)

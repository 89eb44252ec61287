"""/dashboard/requests: the API request log, with advice for each failed request."""

import re
from collections.abc import Mapping
from typing import cast

from flask import Response, current_app, request

from dashboard.guard import DEVELOPERS, account
from dashboard.site import PER_PAGE, blueprint, mine, show
from gateway.settings import get_settings
from models.accounts.account import ApiKey
from models.accounts.api_request import ApiRequest, RequestFilter
from models.page import Newest
from networks.registry import explanation

# The application injects the contract's operations: the method and route of each operationId.
EXTENSION = "operations"
METHODS = ("GET", "POST", "PATCH", "DELETE")
OUTCOME_NAMES = {
    "ok": "Succeeded",
    "failed": "Failed",
    "4xx": "Failed with 4xx",
    "5xx": "Failed with 5xx",
}
WORDS = {"outcome": "status", "key_id": "key"}
IDENTIFIER = re.compile(r"\b(?:num|msg|wh|dlv|ctc)_[0-9A-Z]{26}\b")
PAGES = {
    "num": ("number", "numbers"),
    "msg": ("message", "messages"),
    "wh": ("webhook", "webhooks"),
    "dlv": ("delivery", "deliveries"),
    "ctc": ("contact", "contacts"),
}


@blueprint.page("/requests", DEVELOPERS)
def requests() -> Response:
    """The account's requests that match the filter, newest first."""
    keys = {key.id: key.name for key in reversed(ApiKey.all(account().id))}
    choices = {
        "outcome": OUTCOME_NAMES,
        "method": dict(zip(METHODS, METHODS, strict=True)),
        "operation": operations(),
        "key_id": keys,
    }
    chosen = {name: request.args.get(name, "") for name in choices}
    problems = {
        name: f"There is no such {WORDS.get(name, name)}. Choose one of the list."
        for name, known in choices.items()
        if chosen[name] not in {"", *known}
    }
    return show(
        "requests.html",
        422 if problems else 200,
        found=Newest[ApiRequest]([], None) if problems else _find(chosen),
        chosen=chosen,
        problems=problems,
        choices=choices,
        keys=keys,
        days=get_settings().request_log_days,
    )


@blueprint.page("/requests/<entry_id>", DEVELOPERS)
def api_request(entry_id: str) -> Response:
    """One request, and what to do about its error."""
    row = mine(ApiRequest.by_id(entry_id))
    error = row.error or {}
    details = error.get("details", {})
    advice = explanation(str(details.get("networkCode")))
    return show(
        "request.html",
        row=row,
        key=ApiKey.by_id(row.key_id),
        route=operations().get(row.operation),
        error=error,
        field=details.get("field"),
        # Most error messages already include it.
        network_advice=advice if advice and advice not in error.get("message", "") else None,
        mentioned=_mentioned(f"{row.path} {row.query} {row.error_json}"),
    )


def operations() -> Mapping[str, str]:
    """The method and route of each operationId."""
    return cast("Mapping[str, str]", current_app.extensions.get(EXTENSION, {}))


def _find(chosen: dict[str, str]) -> Newest[ApiRequest]:
    wanted = RequestFilter(**{name: value or None for name, value in chosen.items()})
    return wanted.newest(account().id, PER_PAGE, request.args.get("before") or None)


def _mentioned(text: str) -> list[tuple[str, str, str]]:
    """The kind, identifier and page of each resource in a text."""
    found = dict.fromkeys(IDENTIFIER.findall(text))
    return [
        (kind, name, f"/dashboard/{folder}/{name}")
        for name in found
        for kind, folder in [PAGES[name.partition("_")[0]]]
    ]

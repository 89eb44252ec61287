"""/dashboard/audit: changes to the account, with who made them, from where, before and after."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlencode

from flask import Response

from dashboard.guard import OWNERS, account
from dashboard.list_filters import read_filters
from dashboard.site import PER_PAGE, blueprint, offset, show
from models.accounts.account import ApiKey
from models.accounts.actor import ActorKind
from models.accounts.audit import Audit
from models.accounts.user import User
from models.clock import timestamp
from models.database import fetch
from models.page import Page, fetch_page
from services.csv_cells import as_csv, as_text
from services.fair_share import Share

COLUMNS = (
    "createdAt",
    "action",
    "subject",
    "actor",
    "actorId",
    "name",
    "address",
    "before",
    "after",
)
# A reader may be slow, and holds a thread of the pages.
EXPORTS = Share("exports of the audit log", 1, 3)
PART = 500
# The newest keys, as choices of a filter.
MOST_KEYS = 50
ANY = {
    ActorKind.USER: "user",
    ActorKind.KEY: "API key",
    ActorKind.OPERATOR: "operator",
    ActorKind.SIGNUP_LINK: "signup link",
    ActorKind.NETWORK: "messaging network",
    ActorKind.SERVICE: "part of the service",
}
MAX_TEXT = 254


@blueprint.page("/audit", OWNERS)
def audit() -> Response:
    """The rows that match the filter, newest first."""
    chosen, problem, wanted = _read()
    return show(
        "audit.html",
        422 if problem else 200,
        found=(
            Page[Audit]([], 0, PER_PAGE, 0)
            if problem
            else fetch_page(Audit.search(account().id, **wanted), PER_PAGE, offset())
        ),
        chosen=chosen,
        problem=problem,
        actors=_actors(chosen["actor"]),
        changes_of=changes_of,
        query=urlencode({name: value for name, value in chosen.items() if value}),
        max_text=MAX_TEXT,
    )


@blueprint.page("/audit.csv", OWNERS)
def audit_csv() -> Response:
    """The same rows as a file, read and sent in parts. Raises RateLimitedError."""
    _, problem, wanted = _read()
    if problem:
        return audit()
    headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
    with ExitStack() as place:
        place.enter_context(EXPORTS.of(account().id))
        response = Response(_parts(account().id, wanted), headers=headers, mimetype="text/csv")
        response.call_on_close(place.pop_all().close)
    return response


def _read() -> tuple[dict[str, str], str, dict[str, Any]]:
    """The filters as typed, what is wrong with them, and the arguments of Audit.search()."""
    chosen, times, problems = read_filters({}, "actor", "action", "subject")
    texts = {name: chosen[name] for name in ("actor", "action", "subject")}
    return chosen, next(iter(problems.values()), ""), texts | times


def _parts(account_id: str, wanted: dict[str, Any]) -> Iterator[str]:
    yield as_csv([COLUMNS])
    part = Audit.search(account_id, **wanted).limit(PART)
    rows = fetch(part)
    while rows:
        yield as_csv(map(_cells, rows))
        rows = fetch(part.where(Audit.id < rows[-1].id))


def _cells(row: Audit) -> list[str]:
    """The values of COLUMNS, none of which is a formula."""
    by = row.actor
    values = (
        *(timestamp(row.at), row.action, row.subject, by.kind, by.id, by.name, by.address),
        *(json.dumps(state) if state else None for state in (row.before, row.after)),
    )
    return [as_text(_text(value)) for value in values]


def changes_of(row: Audit) -> list[tuple[str, str, str]]:
    """The name of each changed value, and the value before and after as text. Empty for none."""
    before, after = row.before, row.after
    values = [
        (_words(name), _text(before.get(name)), _text(after.get(name)))
        for name in {**before, **after}
    ]
    return [(name, old, new) for name, old, new in values if old or new]


def _words(name: str) -> str:
    return re.sub(r"(?=[A-Z])|_", " ", name).lower()


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(_text, value))
        case dict():
            return "; ".join(f"{_words(name)}: {_text(each)}" for name, each in value.items())
    return str(value)


def _actors(chosen: str) -> dict[str, str]:
    """The choices of the filter by actor, with their labels. A chosen one is among them."""
    found = {user.email: user.email for user in User.all(account().id)}
    found |= {key.id: f"Key {key.name}" for key in ApiKey.all(account().id)[-MOST_KEYS:]}
    found |= {str(kind): f"Any {words}" for kind, words in ANY.items()}
    return found | ({chosen: found.get(chosen, chosen)} if chosen else {})

"""/dashboard/contacts: the people with whom the account's numbers exchange messages."""

import re

from flask import Response, request

from dashboard.guard import account
from dashboard.paging import PER_PAGE, offset
from dashboard.site import blueprint, mine, show
from models.contact import Contact
from models.conversation import last_inbound
from models.number import Number
from tasks.emit import window_open_until

PATH = "/dashboard/contacts"
# How people write phone numbers.
PUNCTUATION = re.compile(r"[\s+().\-/]")
MAX_TEXT = 100


@blueprint.get("/contacts")
def contacts() -> Response:
    """The account's contacts that match the filter, newest first."""
    chosen = {name: request.args.get(name, "").strip() for name in ("text", "number_id")}
    if chosen["number_id"]:
        mine(Number.by_id(chosen["number_id"]))
    found = Contact.search(
        account().id,
        PER_PAGE,
        offset(),
        text=_as_kept(chosen["text"]) or None,
        number=chosen["number_id"] or None,
    )
    wrote_at = last_inbound(found.rows)
    return show(
        "contacts.html",
        found=found,
        chosen=chosen,
        max_text=MAX_TEXT,
        numbers={number.id: number for number in Number.all(account().id)},
        wrote_at=wrote_at,
        window={row_id: window_open_until(at) for row_id, at in wrote_at.items()},
    )


def _as_kept(text: str) -> str:
    """A phone number without what people write between its digits, a username without the ``@``."""
    digits = PUNCTUATION.sub("", text)
    return digits if digits.isdecimal() else text.removeprefix("@")

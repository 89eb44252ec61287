"""/dashboard/numbers: connected phone numbers, and what the platform told of them."""

from flask import Response, request

from dashboard.guard import account
from dashboard.site import blueprint, existing, show
from models.notice import Notice
from models.number import Number

PER_PAGE = 50
MAX_NOTICES = 50
MAX_PAGE = 1_000_000
MEANS = {
    "PROVISIONING": "A signup is connecting this number. It takes a few seconds.",
    "ACTIVE": "Sends and receives messages.",
    "DISCONNECTED": "Its owner or the platform disconnected it. A new signup connects it again.",
    "BANNED": "The platform banned it. WhatsApp Manager shows the reason and how to object.",
}


@blueprint.get("/numbers")
def numbers() -> Response:
    """The account's numbers, newest first."""
    page = page_number()
    found = Number.page(account().id, PER_PAGE, (page - 1) * PER_PAGE)
    return show("numbers.html", found=found, page=page, means=MEANS)


@blueprint.get("/numbers/<number_id>")
def number(number_id: str) -> Response:
    """One number, its state explained, and the notices of it and its business account."""
    row = Number.find(number_id)
    mine: Number = existing(row if row and row.account_id == account().id else None)
    notices = Notice.newest(MAX_NOTICES, mine)
    return show("number.html", number=mine, means=MEANS, notices=notices)


def page_number() -> int:
    """The page that the address asks for, from 1."""
    asked = request.args.get("page", "1")
    is_number = asked.isascii() and asked.isdecimal() and len(asked) < len(str(MAX_PAGE))
    return max(1, int(asked)) if is_number else 1

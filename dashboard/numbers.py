"""/dashboard/numbers: connected phone numbers, with the platform's notices."""

from flask import Response

from dashboard.guard import account
from dashboard.paging import PER_PAGE, offset
from dashboard.site import blueprint, mine, show
from dashboard.wording import QUALITY, limit_in_words
from models.numbers.notice import Notice
from models.numbers.number import Number

MAX_NOTICES = 50
MEANS = {
    "PROVISIONING": "A signup is connecting this number. It takes a few seconds.",
    "ACTIVE": "Sends and receives messages.",
    "DISCONNECTED": "Its owner or WhatsApp disconnected it. A new signup connects it again.",
    "BANNED": "WhatsApp banned it. Its owner can request a review.",
}
# The steps to recover a number, by its state.
WHAT_TO_DO = {
    "DISCONNECTED": (
        "Ask the owner of the number whether they removed it or withdrew the permission on purpose.",
        "Create a signup link and send it to the owner. The signup connects this same number again.",
    ),
    "BANNED": (
        "The owner opens WhatsApp Manager, Account quality, and reads which policy was violated.",
        "The owner corrects the cause and requests a review there.",
        "The gateway keeps checking. Once the ban is lifted, the number is active again, without a signup.",
    ),
}


@blueprint.get("/numbers")
def numbers() -> Response:
    """The account's numbers, newest first."""
    found = Number.page(account().id, PER_PAGE, offset())
    return show("numbers.html", found=found, means=MEANS)


@blueprint.get("/numbers/<number_id>")
def number(number_id: str) -> Response:
    """One number, its state explained, and the notices of it and its business account."""
    row = mine(Number.by_id(number_id))
    notices = Notice.newest(MAX_NOTICES, row)
    return show(
        "number.html",
        number=row,
        means=MEANS,
        what_to_do=WHAT_TO_DO,
        notices=notices,
        quality=QUALITY,
        limit=limit_in_words(row.messaging_limit),
    )

"""/dashboard/numbers: connected phone numbers, with the platform's notices and their message templates."""

from flask import Response

from dashboard.guard import ALL, account
from dashboard.own_numbers import own_number
from dashboard.site import PER_PAGE, blueprint, offset, show
from models.database import writing
from models.messages.template import Template, TemplateList
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus

MAX_NOTICES = 50


@blueprint.page("/numbers", ALL)
def numbers() -> Response:
    """The account's numbers, newest first."""
    found = Number.page(account().id, PER_PAGE, offset())
    return show("numbers.html", found=found)


@blueprint.page("/numbers/<number_id>", ALL)
def number(number_id: str) -> Response:
    """One number, its state explained, and the notices of it and its business account."""
    row = own_number(number_id)
    notices = Notice.newest(MAX_NOTICES, row)
    return show("number.html", number=row, notices=notices)


@blueprint.page("/numbers/<number_id>/templates", ALL)
def message_templates(number_id: str) -> Response:
    """The templates of a number's business account, as last read from the platform.

    If they were never read, the worker reads them now, and the page polls until they are here.
    """
    number = own_number(number_id)
    known = TemplateList.of(number)
    can_ask = number.status == NumberStatus.ACTIVE
    if known is None and can_ask:
        with writing():
            TemplateList.ask(number)
    is_read = known is not None and known.read_at is not None
    return show(
        "message_templates.html",
        number=number,
        found=Template.search(number, PER_PAGE, offset()),
        read_at=known.read_at if known else None,
        is_live=can_ask and not is_read,
    )

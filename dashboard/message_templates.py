"""/dashboard/numbers/.../templates: the message templates that a number can send."""

from flask import Response

from dashboard.paging import PER_PAGE, offset
from dashboard.site import blueprint, mine, show
from dashboard.wording import QUALITY
from models.database import writing
from models.messages.template import Template, TemplateList
from models.numbers.number import Number, NumberStatus

KIND = {
    "APPROVED": "good",
    "PENDING": "wait",
    "REJECTED": "bad",
    "PAUSED": "bad",
    "DISABLED": "bad",
    "FLAGGED": "bad",
}


@blueprint.get("/numbers/<number_id>/templates")
def message_templates(number_id: str) -> Response:
    """The templates of a number's business account, as last read from the platform.

    If they were never read, the worker reads them now, and the page polls until they are here.
    """
    number = mine(Number.by_id(number_id))
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
        kind=KIND,
        quality=QUALITY,
    )

"""The templates that a number can send, for forms that offer and read them."""

from flask import abort

from dashboard.site import mine
from models.database import writing
from models.messages.template import Template, TemplateList, TemplateStatus
from models.numbers.number import Number, NumberStatus

MOST_TEMPLATES = 100


def approved_templates(number: Number) -> list[Template]:
    """The templates that the number can send. If they were never read, the worker reads them now."""
    if TemplateList.of(number) is None and number.status == NumberStatus.ACTIVE:
        with writing():
            TemplateList.ask(number)
    return Template.search(number, MOST_TEMPLATES, 0, status=TemplateStatus.APPROVED).rows


def is_reading(number: Number) -> bool:
    """Whether the templates were never read, so that they appear later."""
    known = TemplateList.of(number)
    return known is None or known.read_at is None


def chosen_template(number: Number, template_id: str | None) -> Template | None:
    """The template of the number's business account. None if none is chosen.

    Ends the request with a 404 page if there is no such template.
    """
    if not template_id:
        return None
    found = mine(Template.by_id(template_id))
    return found if found.waba_id == number.waba_id else abort(404)

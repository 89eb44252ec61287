"""Numbers of a network that lacks a capability: nothing is stored or tried for it."""

import asyncio

import pytest

from handlers import blocks, profiles, templates
from models.database import writing
from models.errors import ConflictError, NotFoundError
from models.messages.template import TemplateList
from models.numbers.number import Number
from networks.exceptions import PageGoneError
from services import business, template_copy
from services import templates as service
from services.network_failures import answer_to
from tests import factories


@pytest.fixture
def bare(number: Number) -> Number:
    """A number of the network in the process."""
    with writing():
        Number.update(network="memory").execute()
    return Number.get_by_id(number.id)


def test_templates_profiles_and_blocks_are_a_conflict_and_leave_nothing(bare: Number) -> None:
    names = bare.account_id, bare.id
    for call in (
        templates.list_templates(*names, 20, 0),
        profiles.get_number_profile(*names),
        blocks.list_blocked(*names, 20),
    ):
        with pytest.raises(
            ConflictError, match=f"The messaging network of the number {bare.id} cannot"
        ):
            asyncio.run(call)
    assert TemplateList.select().count() == 0


def test_a_template_is_sent_without_a_list_of_templates(bare: Number) -> None:
    content = {"name": "hello", "language": {"code": "en"}}
    service.check_message(bare, factories.contact(bare, phone="15551234567"), content)
    assert TemplateList.select().count() == 0


def test_the_worker_forgets_a_list_that_the_network_cannot_have(bare: Number) -> None:
    with writing():
        TemplateList.ask(bare)
    template_copy.read_due()
    assert TemplateList.select().count() == 0


def test_a_page_that_is_gone_is_an_error_of_the_cursor_without_a_code(number: Number) -> None:
    answer = answer_to(number, business.LISTING, PageGoneError("100", "Invalid parameter"))
    assert isinstance(answer, NotFoundError)
    assert answer.details == {"field": "/after"}

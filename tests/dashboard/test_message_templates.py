"""The page of a number's templates, and how it loads them."""

from collections.abc import Callable

import pytest

from models.accounts.account import Account
from models.database import writing
from models.messages.template import TemplateList
from models.numbers.number import Number, NumberStatus
from tests import factories
from tests.dashboard.conftest import Visit
from tests.fake_templates import definition, known

Shown = Callable[..., str]


@pytest.fixture
def shown(visit: Visit) -> Shown:
    """The page of a number's templates."""
    return lambda number, status=200: visit(f"numbers/{number.id}/templates", status)


def test_each_template_is_shown_with_its_status_and_the_reason_of_a_rejection(
    number: Number, shown: Shown
) -> None:
    known(
        number,
        definition(quality_score="GREEN"),
        definition("sale", category="MARKETING", status="REJECTED", template_id="502"),
        definition("<b>", status="REJECTED", rejected_reason="SCAM", template_id="503"),
    )
    page = shown(number)
    for said in (
        "order_shipped",
        "en_US",
        "approved",
        "high",
        "marketing",
        "rejected",
        "Reason: Scam",
    ):
        assert said in page
    assert "<b>" not in page
    assert "hx-get" not in page


def test_templates_never_read_are_requested_and_the_page_waits(
    number: Number, shown: Shown
) -> None:
    page = shown(number)
    assert "being read" in page
    assert "hx-get" in page
    assert TemplateList.of(number) is not None
    known(number)
    page = shown(number)
    assert "No template yet" in page
    assert "hx-get" not in page


def test_a_disconnected_number_requests_no_templates(number: Number, shown: Shown) -> None:
    with writing():
        number.move_to(NumberStatus.DISCONNECTED)
    page = shown(number)
    assert 'class="empty"' in page
    assert "hx-get" not in page, "nothing is being read"
    assert "<code>POST" not in page, "nothing was read"
    assert TemplateList.of(number) is None


def test_another_account_s_number_has_no_such_page(shown: Shown) -> None:
    shown(factories.active_number(Account.open("Stranger", "pro")), 404)

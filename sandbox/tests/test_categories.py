"""Effects of a template's category: the recipients, their identifiers, and the price."""

from typing import Any

import pytest

from message_templates import approved, body, decide, send
from sandbox_harness import Business, Receiver
from test_callbacks import settle
from test_events import heard
from test_limits import code_of
from test_people import ANA, PHONE, change, failure, template, wrote
from test_prices import expected, price

CODE = {"type": "text", "text": "4711"}
FILLED = body(CODE, CODE)
SALE = {"name": "summer_sale", "category": "MARKETING"}


def sale(business: Business, **changes: Any) -> Any:
    """A send of the account's own template of that name."""
    content = {"name": "summer_sale", "language": {"code": "en_US"}, "components": [FILLED]}
    return business.post(type="template", text=None, template=content, **changes)


def test_own_marketing_templates_never_reach_people_who_opted_out(
    business: Business, receiver: Receiver
) -> None:
    template_id = approved(business, **SALE)
    wrote(business, **{"from": PHONE})
    change(business.sandbox, PHONE, marketing="stop")
    assert failure(receiver, sale(business).json()["messages"][0]["id"]) == 131050
    user_id = receiver.items("messages")[0]["from_user_id"]
    by_id = sale(business, to=None, recipient=user_id).json()["messages"][0]["id"]
    assert failure(receiver, by_id) == 131050
    decide(business, template_id, category="UTILITY")
    wamid = sale(business).json()["messages"][0]["id"]
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")


def test_marketing_of_another_account_goes_on(business: Business, receiver: Receiver) -> None:
    approved(business, **SALE)
    other = business.sandbox.connect()
    wrote(other, **{"from": PHONE})
    change(business.sandbox, PHONE, marketing="stop", waba_id=other.waba_id)
    wamid = sale(business).json()["messages"][0]["id"]
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")


def test_an_own_authentication_template_does_not_go_to_a_user_id(business: Business) -> None:
    code = {"type": "button", "sub_type": "url", "index": "0", "parameters": [CODE]}
    content = {
        "name": "sample_code",
        "language": {"code": "en_US"},
        "components": [body(CODE), code],
    }
    refused = business.post(to=None, recipient=ANA, type="template", text=None, template=content)
    assert (refused.status_code, code_of(refused)) == (400, 131062)
    assert business.sandbox.accepted() == []
    assert business.post(type="template", text=None, template=content).ok


@pytest.mark.parametrize("category", ["UTILITY", "MARKETING", "AUTHENTICATION"])
def test_an_own_template_costs_its_own_category(
    business: Business, receiver: Receiver, category: str
) -> None:
    business.sandbox.control("PUT", "behaviour", {"template_category": "authentication"})
    decide(business, approved(business), category=category)
    settle(business.sandbox)
    assert price(receiver, business, send(business, FILLED)) == expected(
        category.lower(), "regular"
    )


def test_who_opted_out_gets_no_marketing_until_opting_in_again(
    business: Business, receiver: Receiver
) -> None:
    behave = {"template_category": "marketing"}
    business.sandbox.control("PUT", "behaviour", behave)
    wrote(business, **{"from": PHONE})
    changed = change(business.sandbox, PHONE, marketing="stop")
    assert changed["opted_out"] == [business.waba_id]
    ((_, update),) = heard(receiver)
    (preference,) = update["value"]["user_preferences"]
    expected = {"wa_id": PHONE, "category": "marketing_messages", "value": "stop"}
    assert expected.items() <= preference.items()
    wamid = template(business).json()["messages"][0]["id"]
    assert failure(receiver, wamid) == 131050
    receiver.wait_for_statuses(business.send(), "sent", "delivered", "read")
    business.sandbox.control("PUT", "behaviour", {"template_category": "utility"})
    wamid = template(business).json()["messages"][0]["id"]
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    business.sandbox.control("PUT", "behaviour", behave)
    assert change(business.sandbox, PHONE, marketing="resume")["opted_out"] == []
    wamid = template(business).json()["messages"][0]["id"]
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    values_told = [each["value"]["user_preferences"][0]["value"] for _, each in heard(receiver, 2)]
    assert values_told == ["stop", "resume"]


def test_an_authentication_template_does_not_go_to_a_user_id(business: Business) -> None:
    business.sandbox.control("PUT", "behaviour", {"template_category": "authentication"})
    response = template(business, to=None, recipient=ANA)
    assert (response.status_code, response.json()["error"]["code"]) == (400, 131062)
    assert template(business).ok
    assert business.post(to=None, recipient=ANA).ok

"""Prices in statuses."""

from typing import Any

import pytest

from sandbox_harness import Business, Receiver
from test_callbacks import settle, write
from test_people import template

FREE = "free_customer_service"
REFERRAL = {"source_url": "https://fb.me/1", "source_id": "1", "source_type": "ad"}


def statuses_of(receiver: Receiver, wamid: str) -> dict[str, dict[str, Any]]:
    """Each status of the message that carries a price."""
    statuses = [each for each in receiver.items("statuses") if each["id"] == wamid]
    return {each["status"]: each for each in statuses if "pricing" in each}


def price(receiver: Receiver, business: Business, answer: Any) -> dict[str, Any]:
    settle(business.sandbox)
    statuses = statuses_of(receiver, answer.json()["messages"][0]["id"])
    assert set(statuses) == {"sent", "delivered"}
    assert statuses["sent"]["pricing"] == statuses["delivered"]["pricing"]
    pricing: dict[str, Any] = statuses["sent"]["pricing"]
    assert pricing["pricing_model"] == "PMP"
    return {name: pricing[name] for name in ("category", "type", "billable")}


def expected(category: str, type_: str) -> dict[str, Any]:
    return {"category": category, "type": type_, "billable": type_ == "regular"}


def test_a_message_that_is_no_template_is_free(business: Business, receiver: Receiver) -> None:
    assert price(receiver, business, business.post()) == expected("service", FREE)


@pytest.mark.parametrize("category", ["utility", "marketing", "authentication"])
def test_a_template_costs_its_category(
    business: Business, receiver: Receiver, category: str
) -> None:
    business.sandbox.control("PUT", "behaviour", {"template_category": category})
    assert price(receiver, business, template(business)) == expected(category, "regular")
    write(business, text="Hi")
    kind = FREE if category == "utility" else "regular"
    assert price(receiver, business, template(business)) == expected(category, kind)


def test_what_follows_an_advertisement_is_free_for_three_days(
    business: Business, receiver: Receiver
) -> None:
    business.sandbox.control("PUT", "behaviour", {"template_category": "marketing"})
    write(business, text="Hi", referral=REFERRAL)
    answer = template(business)
    assert price(receiver, business, answer) == expected("marketing", "free_entry_point")
    statuses = statuses_of(receiver, answer.json()["messages"][0]["id"])
    assert statuses["sent"]["conversation"]["origin"] == {"type": "referral_conversion"}
    assert statuses["sent"]["conversation"]["expiration_timestamp"].isdigit()
    assert "expiration_timestamp" not in statuses["delivered"]["conversation"]
    business.sandbox.control("POST", "clock", {"advance_seconds": 73 * 3600})
    answer = template(business)
    assert price(receiver, business, answer) == expected("marketing", "regular")
    assert "conversation" not in statuses_of(receiver, answer.json()["messages"][0]["id"])["sent"]


def test_a_message_that_is_read_at_once_has_its_price_there(
    business: Business, receiver: Receiver
) -> None:
    business.sandbox.control("PUT", "behaviour", {"skip_delivered": 1})
    wamid = business.send()
    receiver.wait_for_statuses(wamid, "sent", "read")
    assert set(statuses_of(receiver, wamid)) == {"sent", "read"}

"""Callbacks about a number's quality, limit and name, and the values of its node afterwards."""

from typing import Any

import pytest

from sandbox_harness import Business, Receiver, Sandbox
from test_events import announce, heard

QUALITY, NAME = "phone_number_quality_update", "phone_number_name_update"
FIELDS = "quality_rating,whatsapp_business_manager_messaging_limit,verified_name,name_status"


def node(business: Business) -> dict[str, Any]:
    fields: dict[str, Any] = business.graph("GET", f"{business.number_id}?fields={FIELDS}").json()
    return fields


def notify(business: Business, **body: Any) -> dict[str, Any]:
    path = f"numbers/{business.number_id}/events"
    notified: dict[str, Any] = business.sandbox.control("POST", path, body)
    return notified


@pytest.mark.parametrize("name", ["current_limit", "max_daily_conversations_per_business"])
def test_the_limit_follows_either_spelling(business: Business, name: str) -> None:
    value = {"old_limit": "TIER_2K", name: "TIER_10K", "event": "UPGRADE"}
    notified = notify(business, field=QUALITY, value=value)
    assert notified["value"] == {**value, "display_phone_number": business.digits}
    assert node(business)["whatsapp_business_manager_messaging_limit"] == "TIER_10K"
    business.sandbox.kill()
    business.sandbox.start()
    assert node(business)["whatsapp_business_manager_messaging_limit"] == "TIER_10K"


def test_the_quality_changes_with_and_without_an_announcement(business: Business) -> None:
    assert node(business)["quality_rating"] == "GREEN"
    notify(business, field=QUALITY, value={"event": "FLAGGED"})
    assert node(business)["quality_rating"] == "RED"
    notify(business, field=QUALITY, value={"event": "UNFLAGGED"})
    assert node(business)["quality_rating"] == "GREEN"
    notified = notify(business, field=QUALITY, quality_rating="YELLOW")
    assert "quality_rating" not in notified["value"]
    assert node(business)["quality_rating"] == "YELLOW"


def test_a_name_is_taken_once_it_is_approved(business: Business, receiver: Receiver) -> None:
    rejected = {"decision": "REJECTED", "requested_verified_name": "Bo", "rejection_reason": "X"}
    notify(business, field=NAME, value=rejected)
    assert (node(business)["verified_name"], node(business)["name_status"]) != ("Bo", "APPROVED")
    assert node(business)["name_status"] == "REJECTED"
    notify(business, field=NAME, value={"requested_verified_name": "Bo"})
    assert (node(business)["verified_name"], node(business)["name_status"]) == ("Bo", "APPROVED")
    assert {change["field"] for _, change in heard(receiver, 2)} == {NAME}


def test_the_number_of_the_path_is_meant(sandbox: Sandbox) -> None:
    one = sandbox.connect()
    two = sandbox.connect(waba_id=one.waba_id)
    notified = notify(two, field=QUALITY, quality_rating="RED")
    assert notified["value"]["display_phone_number"] == two.digits
    assert node(one)["quality_rating"] == "GREEN"
    assert node(two)["quality_rating"] == "RED"


def test_an_alert_comes_nested_or_flat(business: Business) -> None:
    nested = notify(business, field="account_alerts")["value"]
    flat = notify(business, field="account_alerts", flat=True)["value"]
    assert set(flat) == {"entity_type", "entity_id", *nested["alert_info"]}


@pytest.mark.parametrize(
    ("event", "part"),
    [
        ("PARTNER_CLIENT_CERTIFICATION_STATUS_UPDATE", "partner_client_certification_info"),
        ("AUTH_INTL_PRICE_ELIGIBILITY_UPDATE", "auth_international_rate_eligibility"),
        ("BUSINESS_PRIMARY_LOCATION_COUNTRY_UPDATE", "country"),
        ("AD_ACCOUNT_LINKED", "waba_info"),
        ("MM_LITE_TERMS_SIGNED", "waba_info"),
    ],
)
def test_each_account_event_comes_with_what_belongs_to_it(
    business: Business, event: str, part: str
) -> None:
    assert part in announce(business, event=event)["value"]


@pytest.mark.parametrize(
    "body",
    [
        {"field": QUALITY, "quality_rating": "BLUE"},
        {"field": QUALITY, "quality_rating": 7},
        {"field": NAME, "quality_rating": "RED"},
        {"field": "account_alerts", "flat": "yes"},
    ],
)
def test_invalid_updates_of_a_number_change_nothing(shared: Business, body: dict[str, Any]) -> None:
    path = f"/_sandbox/numbers/{shared.number_id}/events"
    assert shared.sandbox.call("POST", path, json=body).status_code == 400
    assert node(shared)["quality_rating"] == "GREEN"

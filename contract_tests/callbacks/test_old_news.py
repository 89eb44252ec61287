"""What callbacks say about a number, of any age: it stays in service while the platform says CONNECTED."""

import time
from typing import Any

import pytest

from contract_tests.callbacks.platform import Platform, entry, messages
from contract_tests.callbacks.statuses import failure
from contract_tests.harness import Customer, Gateway, wait_for

# The sandbox sends no statuses about messages to this person.
TO = "15550100006"
NOW, BEFORE_THE_SIGNUP, OLD, OLDEST = 0, 3_600, 6 * 86_400, 8 * 86_400 - 300
AGES = pytest.mark.parametrize("age", [NOW, BEFORE_THE_SIGNUP, OLD, OLDEST])
CODES = [0, 3, 10, 33, 190, 200, 368, 131005, 131031, 133010]
DISABLED = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}}
LOST = [
    DISABLED,
    {"event": "ACCOUNT_OFFBOARDED"},
    {"event": "ACCOUNT_DELETED"},
    {"event": "PARTNER_REMOVED"},
    {"event": "PARTNER_REMOVED", "disconnection_info": {"reason": "PRIMARY_INACTIVITY"}},
]


@pytest.fixture(scope="module")
def waba_id(gateway: Gateway, customer: Customer) -> str:
    """The business account of the customer's number."""
    return gateway.business_account_of(customer)


def _is_in_service(customer: Customer) -> None:
    shown = customer.request("GET", f"/numbers/{customer.number['id']}").json()
    assert (shown["status"], shown["statusReason"]) == ("ACTIVE", None)
    sent = customer.send(TO)
    assert sent.status_code == 200, sent.text


@AGES
@pytest.mark.parametrize("code", CODES)
def test_a_failed_status_takes_no_number_out_of_service(
    customer: Customer, platform: Platform, phone_number_id: str, code: int, age: int
) -> None:
    sent = customer.send(TO).json()
    status: dict[str, Any] = {"id": sent["wa_message_id"], "status": "failed", "recipient_id": TO}
    status |= {"timestamp": str(int(time.time()) - age), "errors": [failure(code, "Refused")]}
    platform.tell(entry("2001", messages(phone_number_id, statuses=[status])))
    _is_in_service(customer)
    message = customer.request("GET", f"/messages/{sent['id']}").json()
    assert str(code) in {error["code"] for error in message["errors"]}


@AGES
@pytest.mark.parametrize("value", LOST)
def test_an_account_update_takes_no_number_out_of_service(
    customer: Customer, platform: Platform, waba_id: str, value: dict[str, Any], age: int
) -> None:
    change = {"field": "account_update", "value": value | {"waba_info": {"waba_id": waba_id}}}
    platform.tell(entry(waba_id, change, time=int(time.time()) - age))
    _is_in_service(customer)


def test_after_all_of_it_the_platform_was_asked_and_the_number_has_never_left(
    gateway: Gateway, customer: Customer
) -> None:
    number_id = gateway.number_id_of(customer)
    news = {"field": "phone_number_quality_update", "quality_rating": "YELLOW"}
    gateway.sandbox_call(f"numbers/{number_id}/events", **news)

    def is_checked() -> bool:
        number = customer.request("GET", f"/numbers/{customer.number['id']}").json()
        return bool(number["qualityRating"] == "YELLOW")

    wait_for(is_checked, "a check of the number")
    lost = "event=number.disconnected,number.banned"
    assert customer.request("GET", f"/events?{lost}").json()["data"] == []
    _is_in_service(customer)

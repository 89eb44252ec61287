"""Updates of a number from the network: quality, messaging limit, name and notices."""

import json
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.event import Event
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus
from resources.number import status_reason
from services import number_checks
from tests import factories
from tests.asked_platform import AskedPlatform
from tests.tasks.callbacks import account_update, ingest_now, kinds

ACTIVE, BANNED = NumberStatus.ACTIVE, NumberStatus.BANNED
OURS = "+1 555-000-1111"
AT = 1_795_167_000
# The callbacks have a fixed time.
pytestmark = pytest.mark.usefixtures("clock")


def _entry(field: str, **value: Any) -> dict[str, Any]:
    return {"id": "2001", "time": AT, "changes": [{"value": value, "field": field}]}


def _now(number: Number) -> Number:
    fresh: Number = Number.get_by_id(number.id)
    return fresh


def _told() -> list[dict[str, Any]]:
    """The numbers in the events, oldest first."""
    return [json.loads(event.payload)["data"] for event in Event.select().order_by(Event.id)]


def _check(number: Number) -> None:
    number.amend(due_at=0)
    number_checks.check_due()


@pytest.mark.parametrize("name", ["max_daily_conversations_per_business", "current_limit"])
def test_a_new_limit_is_stored_emits_one_event_and_requests_the_quality(
    number: Number, asked_platform: AskedPlatform, name: str
) -> None:
    value = {"display_phone_number": OURS, "event": "ONBOARDING", name: "TIER_2K"}
    for _ in range(2):
        ingest_now(_entry("phone_number_quality_update", **value))
    [told] = _told()
    assert (told["id"], told["messagingLimit"]) == (number.id, "TIER_2K")
    assert kinds() == ["number.updated"]
    assert _now(number).messaging_limit == "TIER_2K"
    asked_platform.news = {"quality_rating": "YELLOW", "messaging_limit": "TIER_2K"}
    number_checks.check_due()
    assert asked_platform.asked == [number.phone_number_id]
    assert [told["qualityRating"] for told in _told()] == [None, "YELLOW"]


@pytest.mark.usefixtures("number")
def test_a_changed_limit_of_the_business_emits_an_event_for_each_number_of_the_account(
    account: Account,
) -> None:
    factories.active_number(account, "1002", phone_number="15550002222")
    foreign = factories.active_number(account, "1003", waba_id="2003")
    value = {"max_daily_conversations_per_business": "TIER_10K", "max_phone_numbers_per_waba": 2}
    ingest_now(_entry("business_capability_update", **value))
    assert [told["messagingLimit"] for told in _told()] == ["TIER_10K"] * 2
    assert _now(foreign).messaging_limit is None


@pytest.mark.parametrize(
    ("decision", "shown", "description"),
    [("APPROVED", "New name", None), ("REJECTED", "Acme", "It names another business.")],
)
def test_an_approved_name_is_shown_and_a_rejected_one_is_a_notice(
    number: Number, decision: str, shown: str, description: str | None
) -> None:
    reason = description or "NONE"
    value = {"requested_verified_name": "New name", "rejection_reason": reason}
    ingest_now(
        _entry("phone_number_name_update", display_phone_number=OURS, decision=decision, **value)
    )
    [told] = _told()
    assert (told["displayName"], _now(number).display_name) == (shown, shown)
    assert told["notice"] == {
        "field": "phone_number_name_update",
        "event": decision,
        "description": description,
        "at": "2026-11-20T09:30:00.000Z",
        "restrictions": [],
        "limits": None,
    }


@pytest.mark.usefixtures("number")
def test_a_restriction_is_shown_with_its_type_and_its_end() -> None:
    known = {"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": 1_795_426_200}
    odd = [{"restriction_type": "a <b>"}, {"restriction_type": 7}, "odd", {}]
    ends: list[dict[str, int]] = [{}, {"expiration": 99_999_999_999_999_999}]
    others = [{"restriction_type": "RESTRICTED_ADD_PHONE_NUMBER_ACTION"} | each for each in ends]
    info = [known, *others, *odd]
    ingest_now(_entry("account_update", event="ACCOUNT_RESTRICTION", restriction_info=info))
    [told] = _told()
    assert told["notice"]["restrictions"] == [
        {"type": known["restriction_type"], "until": "2026-11-23T09:30:00.000Z"},
        *[{"type": "RESTRICTED_ADD_PHONE_NUMBER_ACTION", "until": None}] * 2,
    ]
    assert kinds() == ["number.updated"]


@pytest.mark.usefixtures("number")
def test_the_limits_of_a_business_are_shown() -> None:
    value = {"max_daily_conversation_per_phone": -1, "max_phone_numbers_per_business": 20}
    ingest_now(_entry("business_capability_update", max_phone_numbers_per_waba="odd", **value))
    [told] = _told()
    assert told["notice"]["limits"] == {
        "maxConversationsPerNumber": -1,
        "maxNumbersPerBusiness": 20,
        "maxNumbersPerAccount": None,
    }


ALERT = {
    "alert_severity": "CRITICAL",
    "alert_status": "ACTIVE",
    "alert_type": "OBA_REJECTED",
    "alert_description": "Not eligible.",
}


@pytest.mark.parametrize("alert", [ALERT, {"alert_info": ALERT}])
@pytest.mark.parametrize(("entity", "concerned"), [("BUSINESS", 2), ("PHONE_NUMBER", 1)])
def test_an_alert_is_told_of_the_numbers_that_it_is_about(
    account: Account, number: Number, alert: dict[str, Any], entity: str, concerned: int
) -> None:
    factories.active_number(account, "1002", phone_number="15550002222")
    ingest_now(
        _entry(
            "account_alerts",
            entity_type=entity,
            entity_id=number.phone_number_id,
            **alert,
        )
    )
    told = _told()
    assert told[0]["id"] == number.id
    assert len(told) == concerned
    assert {each["notice"]["event"] for each in told} == {"OBA_REJECTED"}
    assert {each["notice"]["description"] for each in told} == {"Not eligible."}


def test_a_violation_emits_an_event_and_is_the_reason_of_the_following_ban(
    number: Number, asked_platform: AskedPlatform
) -> None:
    ingest_now(account_update("ACCOUNT_VIOLATION", violation_info={"violation_type": "SCAM"}))
    [told] = _told()
    assert told["notice"]["event"] == "ACCOUNT_VIOLATION SCAM"
    assert (told["status"], told["statusReason"]) == ("ACTIVE", None)
    ingest_now(account_update("DISABLED_UPDATE", ban_info={"waba_ban_state": "DISABLE"}))
    assert status_reason(_now(number)) is None, "an announcement is no ban"
    asked_platform.status = "BANNED"
    number_checks.check_due()
    told = _told()[-1]
    assert kinds()[-1] == "number.banned"
    assert told["statusReason"] == "DISABLED_UPDATE DISABLE; ACCOUNT_VIOLATION SCAM"
    asked_platform.status = "CONNECTED"
    _check(number)
    assert (kinds()[-1], _told()[-1]["statusReason"]) == ("number.activated", None)


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (None, "DISCONNECTED"),
        (
            account_update("PARTNER_REMOVED", disconnection_info={"reason": "PRIMARY_INACTIVITY"}),
            "PARTNER_REMOVED PRIMARY_INACTIVITY",
        ),
    ],
)
def test_a_disconnect_says_why_as_far_as_the_network_does(
    number: Number, asked_platform: AskedPlatform, update: dict[str, Any] | None, reason: str
) -> None:
    asked_platform.status = "DISCONNECTED"
    if update is not None:
        ingest_now(update)
    _check(number)
    assert _told()[-1]["statusReason"] == status_reason(_now(number)) == reason


def test_what_a_check_finds_is_told_only_when_it_changed(
    number: Number, asked_platform: AskedPlatform
) -> None:
    asked_platform.news = {"quality_rating": "GREEN", "messaging_limit": "TIER_2K"}
    for _ in range(3):
        _check(number)
    asked_platform.news = {"quality_rating": None, "messaging_limit": None, "display_name": None}
    _check(number)
    asked_platform.news = {"quality_rating": "RED", "display_name": "Acme Ltd"}
    _check(number)
    shown = [
        (told["qualityRating"], told["messagingLimit"], told["displayName"]) for told in _told()
    ]
    assert shown == [("GREEN", "TIER_2K", "Acme"), ("RED", "TIER_2K", "Acme Ltd")]
    assert kinds() == ["number.updated"] * 2


def test_a_notice_about_a_phone_number_is_not_one_of_its_neighbours(
    number: Number, account: Account
) -> None:
    factories.active_number(account, "1002", phone_number="15550002222")
    value = {"event": "FLAGGED", "current_limit": "TIER_250"}
    ingest_now(_entry("phone_number_quality_update", display_phone_number=OURS, **value))
    assert [told["id"] for told in _told()] == [number.id]


def test_a_disconnected_number_gets_no_updates(account: Account) -> None:
    number = factories.active_number(account)
    with writing():
        number.move_to(NumberStatus.DISCONNECTED)
    ingest_now(_entry("account_review_update", decision="REJECTED"))
    assert (_told(), Notice.select().count()) == ([], 1)


@pytest.mark.usefixtures("number")
@pytest.mark.parametrize("field", ["security", "message_template_status_update", "flows"])
def test_updates_about_other_subjects_are_only_notices(field: str) -> None:
    ingest_now(_entry(field, event="X"))
    assert (_told(), Notice.select().count()) == ([], 1)


def test_a_phone_number_that_changed_at_the_platform_changes_here(
    number: Number, asked_platform: AskedPlatform
) -> None:
    asked_platform.phone_number = "15550007777"
    _check(number)
    assert [told["phoneNumber"] for told in _told()] == ["15550007777"]


def test_a_phone_number_of_another_number_of_the_account_is_not_taken_from_it(
    number: Number, account: Account, asked_platform: AskedPlatform
) -> None:
    other = factories.active_number(account, "1002")
    asked_platform.phone_number = other.phone_number
    _check(number)
    assert (_told(), _now(number).phone_number) == ([], number.phone_number)

"""Callbacks about accounts and numbers."""

from dataclasses import replace
from typing import Any

from tests.networks.whatsapp.payloads.shape import (
    APP_ID,
    AT,
    CHECKED,
    NUMBER,
    NUMBER_ID,
    NUMBER_UPDATED,
    OWN_ACCOUNT,
    WABA,
    Payload,
    account,
    notice,
)

INFO = {"waba_id": OWN_ACCOUNT, "owner_business_id": "2329417887457253"}
SHOWN = {"display_phone_number": NUMBER}
REMOVALS = (
    "ACCOUNT_DISCONNECTED",
    "BUSINESS_DOWNGRADE",
    "CHANGE_NUMBER",
    "COMPANION_INACTIVITY",
    "PRIMARY_INACTIVITY",
    "USER_RE_REGISTERED",
)
RESTRICTIONS = (
    "RESTRICTED_BIZ_INITIATED_MESSAGING",
    "RESTRICTED_CUSTOMER_INITIATED_MESSAGING",
    "RESTRICTED_ADD_PHONE_NUMBER_ACTION",
)
ALERT = {
    "alert_severity": "WARNING",
    "alert_status": "ACTIVE",
    "alert_type": "INCREASED_CAPABILITIES_ELIGIBILITY_DEFERRED",
    "alert_description": "Your limit was not raised.",
}
ENTITY = {"entity_type": "PHONE_NUMBER", "entity_id": NUMBER_ID}


def ban(state: str) -> dict[str, str]:
    """The ``ban_info`` of a state."""
    return {"waba_ban_state": state, "waba_ban_date": "May 2, 2026"}


def told(field: str, variant: str, value: dict[str, Any]) -> Payload:
    """A callback that becomes a notice, emits number.updated and requests a check."""
    return notice(field, variant, value, NUMBER_UPDATED, CHECKED)


def quality(variant: str, **value: Any) -> Payload:
    """A callback about quality. It lacks the quality itself."""
    return told("phone_number_quality_update", variant, SHOWN | value)


UPDATES = [
    account("PARTNER_ADDED", "", waba_info=INFO),
    account("PARTNER_ADDED", "with a solution", waba_info=INFO | {"solution_id": "1"}),
    account("PARTNER_APP_INSTALLED", "", waba_info=INFO | {"partner_app_id": APP_ID}),
    account("PARTNER_APP_UNINSTALLED", "", CHECKED, waba_info=INFO | {"partner_app_id": APP_ID}),
    account("PARTNER_REMOVED", "", CHECKED, waba_info=INFO),
    *(
        account(
            "PARTNER_REMOVED",
            f"for {reason}",
            CHECKED,
            waba_info=INFO,
            disconnection_info={"reason": reason, "initiated_by": "SYSTEM"},
        )
        for reason in REMOVALS
    ),
    account(
        "PARTNER_CLIENT_CERTIFICATION_STATUS_UPDATE",
        "",
        partner_client_certification_info={"client_business_id": "27", "status": "FAILED"},
    ),
    account("ACCOUNT_OFFBOARDED", "", CHECKED),
    replace(account("ACCOUNT_RECONNECTED", "", CHECKED), number_status="DISCONNECTED"),
    account("ACCOUNT_DELETED", "", CHECKED),
    account("DISABLED_UPDATE", "SCHEDULE_FOR_DISABLE", ban_info=ban("SCHEDULE_FOR_DISABLE")),
    account("DISABLED_UPDATE", "DISABLE", CHECKED, ban_info=ban("DISABLE")),
    replace(
        account("DISABLED_UPDATE", "REINSTATE", CHECKED, ban_info=ban("REINSTATE")),
        number_status="BANNED",
    ),
    account("ACCOUNT_VIOLATION", "", violation_info={"violation_type": "ADULT"}),
    account(
        "ACCOUNT_VIOLATION",
        "with a remedy",
        violation_info={"violation_type": "SCAM", "remediation": "Stop"},
    ),
    *(
        account(
            "ACCOUNT_RESTRICTION",
            kind,
            restriction_info=[{"restriction_type": kind, "expiration": AT}],
        )
        for kind in RESTRICTIONS
    ),
    account(
        "ACCOUNT_RESTRICTION", "permanent", restriction_info=[{"restriction_type": RESTRICTIONS[0]}]
    ),
    account("AD_ACCOUNT_LINKED", "", waba_info=INFO | {"ad_account_linked": "384759203948576"}),
    account("MM_LITE_TERMS_SIGNED", "", waba_info=INFO),
    account("VERIFIED_ACCOUNT", "legacy", phone_number=NUMBER),
    account("BUSINESS_PRIMARY_LOCATION_COUNTRY_UPDATE", "", country="DE"),
    account(
        "AUTH_INTL_PRICE_ELIGIBILITY_UPDATE",
        "",
        auth_international_rate_eligibility={
            "start_time": AT,
            "exception_countries": [{"country_code": "ID", "start_time": AT}],
        },
    ),
    account(
        "VOLUME_BASED_PRICING_TIER_UPDATE",
        "",
        volume_tier_info={
            "tier_update_time": AT,
            "pricing_category": "UTILITY",
            "tier": "100001:500000",
            "effective_month": "2026-11",
            "region": "Germany",
        },
    ),
    account("ACCOUNT_DANCED", "of a later version", dance_info={"steps": 3}),
]

NEWS = [
    *(
        told("account_review_update", decision, {"decision": decision})
        for decision in ("APPROVED", "REJECTED", "PENDING", "DEFERRED")
    ),
    told("account_alerts", "nested", {**ENTITY, "alert_info": ALERT}),
    told("account_alerts", "flat", {**ENTITY, **ALERT}),
    told(
        "account_alerts",
        "of the account",
        {"entity_type": "WABA", "entity_id": WABA, "alert_info": ALERT},
    ),
    notice(
        "account_settings_update",
        "of a number",
        {"type": "phone_number_settings", "timestamp": str(AT)},
    ),
    told("business_capability_update", "old", {"max_daily_conversation_per_phone": 1000}),
    told("business_capability_update", "new", {"max_daily_conversations_per_business": "TIER_2K"}),
    told("business_capability_update", "numbers", {"max_phone_numbers_per_business": 20}),
    notice("business_status_update", "", {"business_id": "1", "event": "MOVED"}),
    *(
        quality(event, event=event, current_limit="TIER_1K")
        for event in ("ONBOARDING", "UPGRADE", "DOWNGRADE", "FLAGGED", "UNFLAGGED")
    ),
    quality(
        "of the whole business",
        event="THROUGHPUT_UPGRADE",
        old_limit="TIER_250",
        max_daily_conversations_per_business="TIER_UNLIMITED",
    ),
    *(
        told(
            "phone_number_name_update",
            decision,
            SHOWN | {"decision": decision, "requested_verified_name": "Ana's Plants"},
        )
        for decision in ("APPROVED", "PENDING", "DEFERRED")
    ),
    told(
        "phone_number_name_update",
        "REJECTED",
        SHOWN
        | {
            "decision": "REJECTED",
            "requested_verified_name": "X",
            "rejection_reason": "NAME_TOO_SHORT",
        },
    ),
    *(
        notice("security", event, SHOWN | {"event": event, "requester": "61555822107539"})
        for event in ("PIN_CHANGED", "PIN_RESET_REQUEST", "PIN_RESET_SUCCESS")
    ),
    notice("business_username_update", "", SHOWN | {"username": "plants", "status": "approved"}),
    notice("a_field_of_a_later_version", "", {"news": [1, {"deep": None}]}),
    notice("tracking_events", "", {"events": [{"event_name": "Purchase"}]}),
    notice("payment_configuration_update", "", {"configuration_name": "pix", "status": "Active"}),
    notice("automatic_events", "", {"automatic_events": [{"id": "1", "event_name": "Purchase"}]}),
    notice("partner_solutions", "", {"event": "SOLUTION_CREATED", "solution_id": "1"}),
]

ACCOUNTS: list[Payload] = [*UPDATES, *NEWS]

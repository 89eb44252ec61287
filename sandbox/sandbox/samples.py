"""Sample callbacks about accounts and numbers (Cloud API, Webhooks reference)."""

from __future__ import annotations

from typing import Any

from sandbox import account_updates, clock
from sandbox.entities import Number, Waba

THREE_DAYS = 3 * 24 * 3600
DISABLE = "DISABLE"


def details(event: str) -> dict[str, Any]:
    """The members of an ``account_update`` of this event, besides its name."""
    now = int(clock.now())
    known: dict[str, dict[str, Any]] = {
        "PARTNER_REMOVED": {
            "disconnection_info": {"reason": "ACCOUNT_DISCONNECTED", "initiated_by": "USER"}
        },
        "PARTNER_CLIENT_CERTIFICATION_STATUS_UPDATE": {
            "partner_client_certification_info": {
                "client_business_id": "2729063490586005",
                "status": "APPROVED",
            }
        },
        "DISABLED_UPDATE": {
            "ban_info": {"waba_ban_state": DISABLE, "waba_ban_date": account_updates.ban_date()}
        },
        "ACCOUNT_VIOLATION": {"violation_info": {"violation_type": "ADULT"}},
        "ACCOUNT_RESTRICTION": {
            "restriction_info": [
                {
                    "restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING",
                    "expiration": now + THREE_DAYS,
                }
            ]
        },
        "VOLUME_BASED_PRICING_TIER_UPDATE": {
            "volume_tier_info": {
                "tier_update_time": now,
                "pricing_category": "UTILITY",
                "tier": "100001:500000",
                "effective_month": clock.iso(now)[:7],
                "region": "Germany",
            }
        },
        "AUTH_INTL_PRICE_ELIGIBILITY_UPDATE": {
            "auth_international_rate_eligibility": {
                "start_time": now + THREE_DAYS,
                "exception_countries": [{"country_code": "ID", "start_time": now + THREE_DAYS}],
            }
        },
        "BUSINESS_PRIMARY_LOCATION_COUNTRY_UPDATE": {"country": "DE"},
    }
    return known.get(event, {})


def about_account(waba: Waba, event: str, app_id: str) -> dict[str, Any]:
    """The ``waba_info`` of the events that have one."""
    info = {"waba_id": waba.id, "owner_business_id": waba.business_id}
    if event in {"PARTNER_APP_INSTALLED", account_updates.UNINSTALLED}:
        return {"waba_info": {**info, "partner_app_id": app_id}}
    if event == "AD_ACCOUNT_LINKED":
        return {"waba_info": {**info, "ad_account_linked": "384759203948576"}}
    named = event.startswith("PARTNER_") or event == "MM_LITE_TERMS_SIGNED"
    return {"waba_info": info} if named else {}


def other_field(field: str, waba: Waba, number: Number | None) -> dict[str, Any]:
    """A value of another field, about a number of the account; empty for a field without a sample."""
    shown = {"display_phone_number": number.digits if number is not None else ""}
    name = number.verified_name if number is not None else waba.name
    samples: dict[str, dict[str, Any]] = {
        "phone_number_quality_update": {
            **shown,
            "event": "THROUGHPUT_UPGRADE",
            "max_daily_conversations_per_business": "TIER_2K",
        },
        "phone_number_name_update": {
            **shown,
            "decision": "APPROVED",
            "requested_verified_name": name,
        },
        "account_alerts": {"entity_type": "WABA", "entity_id": waba.id, "alert_info": ALERT},
        "security": {**shown, "event": "PIN_CHANGED"},
        "account_review_update": {"decision": "APPROVED"},
    }
    return samples.get(field, {})


ALERT = {
    "alert_severity": "INFORMATIONAL",
    "alert_status": "ACTIVE",
    "alert_type": "OBA_APPROVED",
    "alert_description": "A sample of an alert.",
}

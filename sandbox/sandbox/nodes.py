"""Graph nodes as GET shows them, with their ``fields`` parameter."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from sandbox import graph_errors
from sandbox.entities import BANNED, CONNECTED, Number, Waba
from sandbox.numbering import display

_FIELD = re.compile(r"([A-Za-z_]+)(?:[.({].*)?")
_SEPARATOR = re.compile(r",(?![^{(]*[})])")
APP_LINK = "https://www.facebook.com/games/"
NUMBER_DEFAULTS = (
    "verified_name",
    "code_verification_status",
    "display_phone_number",
    "quality_rating",
    "platform_type",
    "throughput",
    "last_onboarded_time",
)
# What was set at the number, under the names of its fields.
KEPT_FIELDS = (
    "conversational_automation",
    "new_certificate",
    "new_display_name",
    "new_name_status",
    "username",
)


def number_node(
    number: Number, fields: str | None, callbacks: dict[str, str], throughput: str
) -> dict[str, Any]:
    """A business phone number; ``callbacks`` are the URLs that take its callbacks, by level.

    ``throughput`` is its level.

    Raises GraphError 100 for an unknown field.
    """
    level = throughput if number.status == CONNECTED else "NOT_APPLICABLE"
    others = {"webhook_configuration": callbacks, "throughput": {"level": level}}
    everything = _number_fields(number) | others
    return pick(everything, fields, NUMBER_DEFAULTS, "WhatsAppBusinessPhoneNumber")


def waba_node(waba: Waba, fields: str | None, subscriptions: dict[str, Any]) -> dict[str, Any]:
    """A WhatsApp Business Account; ``subscriptions`` is what its edge of that name lists.

    Raises GraphError 100 for an unknown field.
    """
    everything = {
        "id": waba.id,
        "name": waba.name,
        "timezone_id": "1",
        "message_template_namespace": f"sandbox_{waba.id}",
        "account_review_status": "APPROVED",
        "status": "ACTIVE",
        "business_verification_status": "verified",
        "country": "US",
        "currency": "USD",
        "ownership_type": "CLIENT_OWNED",
        "primary_business_location": "US",
        "is_enabled_for_insights": False,
        "marketing_messages_lite_api_status": None,
        "marketing_messages_onboarding_status": None,
        "disable_marketing_messages_on_cloud_api": False,
        "owner_business_info": {"name": waba.name, "id": waba.business_id},
        "on_behalf_of_business_info": {"name": waba.name, "id": waba.business_id},
        "health_status": _account_health(waba),
        "subscribed_apps": subscriptions,
        **waba.kept,
    }
    return pick(
        everything,
        fields,
        ("name", "timezone_id", "message_template_namespace"),
        "WhatsAppBusinessAccount",
    )


def _number_fields(number: Number) -> dict[str, Any]:
    registered, kept = number.status == CONNECTED, number.kept
    quality = number.quality if registered else "UNKNOWN"
    values = {
        "id": number.id,
        "display_phone_number": display(number.digits),
        "verified_name": number.verified_name,
        "status": number.status,
        "quality_rating": quality,
        "code_verification_status": "VERIFIED",
        "name_status": number.name_status,
        "account_mode": "LIVE",
        "is_official_business_account": False,
        "is_pin_enabled": number.pin is not None,
        "platform_type": "CLOUD_API" if registered else "NOT_APPLICABLE",
        "health_status": _health(number),
        "whatsapp_business_manager_messaging_limit": number.limit,
        # The deprecated name of the limit.
        "messaging_limit_tier": number.limit,
        "last_onboarded_time": None,
        "quality_score": {"score": quality},
        "is_on_biz_app": False,
        "is_preverified_number": False,
        "search_visibility": "NON_VISIBLE",
        "eligibility_for_api_business_global_search": "NON_ELIGIBLE_UNDEFINED_COUNTRY",
        "country_code": None,
        "country_dial_code": None,
        "certificate": "c2FuZGJveA==" if registered else None,
        **{name: kept.get(name) for name in KEPT_FIELDS},
    }
    if "code_verification_status" in kept:
        values["code_verification_status"] = kept["code_verification_status"]
    if number.onboarded_at is not None:
        onboarded = datetime.fromtimestamp(number.onboarded_at, UTC)
        values["last_onboarded_time"] = onboarded.strftime("%Y-%m-%dT%H:%M:%S+0000")
    return values


def business_node(waba: Waba, fields: str | None) -> dict[str, Any]:
    """The business that an account belongs to. Raises GraphError 100 for an unknown field."""
    everything = {
        "id": waba.business_id,
        "name": waba.name,
        "verification_status": "verified",
        "timezone_id": 1,
        "primary_page": None,
        "created_time": None,
    }
    return pick(everything, fields, ("name",), "Business")


def app_node(app_id: str, fields: str | None) -> dict[str, Any]:
    """The app. Raises GraphError 100 for an unknown field."""
    everything = {"id": app_id, "name": "Sandbox", "link": APP_LINK, "namespace": None}
    return pick(everything, fields, ("name", "link"), "Application")


def _health(number: Number) -> dict[str, Any]:
    verdict = "AVAILABLE" if number.status == CONNECTED else "BLOCKED"
    account = "BLOCKED" if number.status == BANNED else "AVAILABLE"
    return {
        "can_send_message": verdict,
        "entities": [
            {"entity_type": "PHONE_NUMBER", "id": number.id, "can_send_message": verdict},
            {"entity_type": "WABA", "id": number.waba_id, "can_send_message": account},
        ],
    }


def _account_health(waba: Waba) -> dict[str, Any]:
    entity = {"entity_type": "WABA", "id": waba.id, "can_send_message": "AVAILABLE"}
    return {"can_send_message": "AVAILABLE", "entities": [entity]}


def pick(
    everything: dict[str, Any], fields: str | None, defaults: tuple[str, ...], node: str
) -> dict[str, Any]:
    """The members that ``fields`` names, or the defaults. Raises GraphError 100 for one that is not there."""
    names = list(defaults) if not fields else [_name(part) for part in _SEPARATOR.split(fields)]
    for name in names:
        if name not in everything:
            raise graph_errors.parameter(
                f"Tried accessing nonexisting field ({name}) on node type ({node})"
            )
    # The platform leaves out what has no value, and always adds the id.
    picked = {name: everything[name] for name in names if everything[name] is not None}
    return {**picked, "id": everything["id"]}


def _name(part: str) -> str:
    match = _FIELD.fullmatch(part.strip())
    return match[1] if match else part.strip()

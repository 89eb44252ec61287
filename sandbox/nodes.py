"""Graph nodes as GET shows them, with their ``fields`` parameter."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from sandbox import errors
from sandbox.entities import BANNED, CONNECTED, Number, Waba
from sandbox.numbering import display

_FIELD = re.compile(r"([A-Za-z_]+)(?:[.({].*)?")
_SEPARATOR = re.compile(r",(?![^{(]*[})])")
NUMBER_DEFAULTS = (
    "verified_name",
    "code_verification_status",
    "display_phone_number",
    "quality_rating",
    "platform_type",
    "throughput",
    "last_onboarded_time",
)


def number_node(number: Number, fields: str | None, callbacks: dict[str, str]) -> dict[str, Any]:
    """A business phone number; ``callbacks`` are the URLs that take its callbacks, by level.

    Raises GraphError 100 for a field it has not.
    """
    everything = _number_fields(number) | {"webhook_configuration": callbacks}
    return _pick(everything, fields, NUMBER_DEFAULTS, "WhatsAppBusinessPhoneNumber")


def waba_node(waba: Waba, fields: str | None) -> dict[str, Any]:
    """A WhatsApp Business Account. Raises GraphError 100 for a field it has not."""
    everything = {
        "id": waba.id,
        "name": waba.name,
        "timezone_id": "1",
        "message_template_namespace": f"sandbox_{waba.id}",
        "account_review_status": "APPROVED",
    }
    return _pick(
        everything,
        fields,
        ("name", "timezone_id", "message_template_namespace"),
        "WhatsAppBusinessAccount",
    )


def _number_fields(number: Number) -> dict[str, Any]:
    registered = number.status == CONNECTED
    values = {
        "id": number.id,
        "display_phone_number": display(number.digits),
        "verified_name": number.verified_name,
        "status": number.status,
        "quality_rating": number.quality if registered else "UNKNOWN",
        "code_verification_status": "VERIFIED",
        "name_status": number.name_status,
        "account_mode": "LIVE",
        "is_official_business_account": False,
        "is_pin_enabled": number.pin is not None,
        "platform_type": "CLOUD_API" if registered else "NOT_APPLICABLE",
        "throughput": {"level": "STANDARD" if registered else "NOT_APPLICABLE"},
        "health_status": _health(number),
        "whatsapp_business_manager_messaging_limit": number.limit,
        "last_onboarded_time": None,
    }
    if number.onboarded_at is not None:
        onboarded = datetime.fromtimestamp(number.onboarded_at, UTC)
        values["last_onboarded_time"] = onboarded.strftime("%Y-%m-%dT%H:%M:%S+0000")
    return values


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


def _pick(
    everything: dict[str, Any], fields: str | None, defaults: tuple[str, ...], node: str
) -> dict[str, Any]:
    names = list(defaults) if not fields else [_name(part) for part in _SEPARATOR.split(fields)]
    for name in names:
        if name not in everything:
            raise errors.parameter(
                f"Tried accessing nonexisting field ({name}) on node type ({node})"
            )
    # The platform leaves out what has no value, and always adds the id.
    picked = {name: everything[name] for name in names if everything[name] is not None}
    return {**picked, "id": everything["id"]}


def _name(part: str) -> str:
    match = _FIELD.fullmatch(part.strip())
    return match[1] if match else part.strip()

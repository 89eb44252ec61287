"""Records the network's other information about numbers: quality, messaging limit, name, notices.

Each change is stored with the number and emitted as ``number.updated``.
"""

import json
from typing import Any

from models.database import writing
from models.numbers.notice import Notice
from models.numbers.number import CONNECTED, Number
from networks import items
from services.emit import emit_number
from webhooks.kinds import EventKind

QUALITY = "phone_number_quality_update"
NAME = "phone_number_name_update"
ALERTS = "account_alerts"
# Notices with these fields update numbers. All others are only stored. Source: Cloud API, webhooks.
SUBJECTS = frozenset(
    {QUALITY, NAME, ALERTS, "account_update", "account_review_update", "business_capability_update"}
)
# The platform renamed the limit and sends both names.
LIMITS = ("max_daily_conversations_per_business", "current_limit")


def tell(number: Number, **news: str | None) -> None:
    """Store values of a number, and emit ``number.updated`` if one changed.

    Joins a transaction of the caller, who rings services.doorbells.deliveries after the commit.
    """
    with writing():
        if number.learn(**news):
            emit_number(EventKind.NUMBER_UPDATED, number)


def take(told: items.Notice) -> list[Number] | None:
    """Store a notice once, and update its numbers. Returns them, or None if the notice is known.

    Joins a transaction of the caller.
    """
    with writing():
        kept = Notice.keep(told.waba_id, told.field, told.phone_number, told.value, told.at)
        if kept is None:
            return None
        if told.field not in SUBJECTS:
            return []
        shown = {
            "field": kept.field,
            "event": kept.event,
            "description": _description(told.value),
            "at": kept.at,
        }
        numbers = _concerned(told)
        for number in numbers:
            tell(number, notice_json=json.dumps(shown), **_values(told))
    return numbers


def _concerned(told: items.Notice) -> list[Number]:
    """The connected numbers of the business account, or the one that the notice names."""
    is_meant = (Number.waba_id == told.waba_id) & Number.status.in_(CONNECTED)
    if told.phone_number is not None:
        is_meant &= Number.phone_number == told.phone_number
    if told.field == ALERTS and "PHONE" in str(told.value.get("entity_type")):
        is_meant &= Number.phone_number_id == str(told.value.get("entity_id"))
    return list(Number.select().where(is_meant))


def _values(told: items.Notice) -> dict[str, str | None]:
    """The values of the number in a notice."""
    value = told.value
    name = value.get("requested_verified_name")
    if told.field == NAME and value.get("decision") == "APPROVED" and isinstance(name, str):
        return {"display_name": name or None}
    given = (value.get(limit) for limit in LIMITS)
    return {"messaging_limit": next((limit for limit in given if isinstance(limit, str)), None)}


def _description(value: dict[str, Any]) -> str | None:
    """The platform's description, or None. An alert has it in an inner object or in the value itself."""
    inner = value.get("alert_info")
    alert = inner if isinstance(inner, dict) else value
    text = alert.get("alert_description") or value.get("rejection_reason")
    return text if isinstance(text, str) and text != "NONE" else None

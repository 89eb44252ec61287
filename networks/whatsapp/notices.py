"""What the platform's notices say about numbers. Source: Cloud API, webhooks."""

from typing import Any

from networks.items import NumberNews

# The fields that may hold the platform's name of the event, in order.
_WORDS = ("event", "decision", "new_quality_score", "new_category", "alert_type")
# An object that has the name, or the rest of it.
_INNER_WORDS = (
    ("ban_info", "waba_ban_state"),
    ("alert_info", "alert_type"),
    ("violation_info", "violation_type"),
    ("disconnection_info", "reason"),
)
UNNAMED = "UNNAMED"
VIOLATION = "ACCOUNT_VIOLATION"
ACCOUNT = "account_update"
QUALITY = "phone_number_quality_update"
NAME = "phone_number_name_update"
ALERTS = "account_alerts"
# Notices with these fields are about numbers.
SUBJECTS = frozenset(
    {QUALITY, NAME, ALERTS, ACCOUNT, "account_review_update", "business_capability_update"}
)
# The platform renamed the limit and sends both names.
LIMITS = ("max_daily_conversations_per_business", "current_limit")


def event_of(value: dict[str, Any]) -> str:
    """The event in the platform's words, such as ``DISABLED_UPDATE SCHEDULE_FOR_DISABLE``."""
    words = [value[name] for name in _WORDS if value.get(name)][:1]
    for outer, inner in _INNER_WORDS:
        if isinstance(found := value.get(outer), dict) and found.get(inner):
            words.append(found[inner])
    return " ".join(str(word) for word in words) or UNNAMED


def news_of(field: str, value: dict[str, Any]) -> NumberNews | None:
    """What a notice says about numbers. None if it says nothing."""
    if field not in SUBJECTS:
        return None
    is_of_one = field == ALERTS and "PHONE" in str(value.get("entity_type"))
    return NumberNews(
        values=_values(field, value),
        description=_description(value),
        phone_number_id=str(value.get("entity_id")) if is_of_one else None,
        # The notice does not name the quality.
        needs_check=field == QUALITY,
    )


def _values(field: str, value: dict[str, Any]) -> dict[str, str | None]:
    name = value.get("requested_verified_name")
    if field == NAME and value.get("decision") == "APPROVED" and isinstance(name, str):
        return {"display_name": name or None}
    given = (value.get(limit) for limit in LIMITS)
    return {"messaging_limit": next((limit for limit in given if isinstance(limit, str)), None)}


def _description(value: dict[str, Any]) -> str | None:
    """The platform's description, or None. An alert has it in an inner object or in the value itself."""
    inner = value.get("alert_info")
    alert = inner if isinstance(inner, dict) else value
    text = alert.get("alert_description") or value.get("rejection_reason")
    return text if isinstance(text, str) and text != "NONE" else None

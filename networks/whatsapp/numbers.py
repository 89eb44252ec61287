"""The platform's states of numbers, and what its notices and account updates say about them.

Source: Cloud API, business phone numbers; webhooks.
"""

import re
from collections.abc import Mapping
from typing import Any

from networks.interface import BETWEEN_REASONS, NumberState
from networks.items import AccountEffect, BusinessLimits, NumberNews, Restriction
from networks.whatsapp.graph import WORD, end_of, part_of, parts_of

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
# The counts of a business, in the order of BusinessLimits.
COUNTS = (
    "max_daily_conversation_per_phone",
    "max_phone_numbers_per_business",
    "max_phone_numbers_per_waba",
)
MOST_RESTRICTIONS = 20
# Messages a second by the level of throughput, and of a number whose level is unknown. Source: Cloud API,
# throughput.
THROUGHPUTS = {"STANDARD": 80, "HIGH": 1_000}
USUAL_THROUGHPUT = 80
# A quality, and an event of QUALITY. The platform limits a number next that is sent more from.
LOW_QUALITY = frozenset({"RED", "FLAGGED"})
# Such as TIER_250 or TIER_2K. Others, such as TIER_UNLIMITED, are no limit. Source: Cloud API, messaging
# limits.
_TIER = re.compile(r"TIER_([0-9]{1,6})(K?)")
# The others (PENDING, RESTRICTED, RATE_LIMITED, FLAGGED, UNKNOWN) are warnings or temporary. Source: Cloud
# API, business phone numbers.
STATES = {
    "CONNECTED": NumberState.CONNECTED,
    "BANNED": NumberState.BANNED,
    "DISCONNECTED": NumberState.LOST,
    "UNVERIFIED": NumberState.LOST,
    "MIGRATED": NumberState.LOST,
    "DELETED": NumberState.LOST,
}
# By event and ban state. All other updates (SCHEDULE_FOR_DISABLE, ACCOUNT_VIOLATION, ACCOUNT_RESTRICTION and
# so on) are notices. Source: Cloud API, webhooks, account_update.
EFFECTS = {
    ("DISABLED_UPDATE", "DISABLE"): AccountEffect.SUSPENDED,
    ("DISABLED_UPDATE", "REINSTATE"): AccountEffect.REINSTATED,
    ("ACCOUNT_RECONNECTED", None): AccountEffect.RECONNECTED,
    ("PARTNER_REMOVED", None): AccountEffect.LOST,
    # A provider's app lost the account. This matters only if it is our app.
    ("PARTNER_APP_UNINSTALLED", None): AccountEffect.LOST,
    ("ACCOUNT_OFFBOARDED", None): AccountEffect.LOST,
    ("ACCOUNT_DELETED", None): AccountEffect.LOST,
}
# The keys are the event and detail of an account update, or the status of a number. Source: Cloud API,
# webhooks, account_update; business phone numbers.
_SENTENCES = {
    "DISABLED_UPDATE DISABLE": "WhatsApp disabled the business account.",
    "PARTNER_REMOVED": "The business removed this service from its account.",
    "PARTNER_REMOVED ACCOUNT_DISCONNECTED": "The business removed this service from its account.",
    "PARTNER_REMOVED PRIMARY_INACTIVITY": "The phone of the number was inactive for too long.",
    "PARTNER_APP_UNINSTALLED": "The business removed the app of this service from its account.",
    "ACCOUNT_OFFBOARDED": "The business account left the platform.",
    "ACCOUNT_DELETED": "The business account was deleted.",
    VIOLATION: "WhatsApp says that the business violated a policy.",
    "BANNED": "WhatsApp banned the number and gave no reason.",
    "DISCONNECTED": "WhatsApp disconnected the number and gave no reason.",
    "UNVERIFIED": "The number is no longer verified.",
    "MIGRATED": "The number moved to another business account.",
    "DELETED": "The number was deleted.",
}


def event_of(value: dict[str, Any]) -> str:
    """The event in the platform's words, such as ``DISABLED_UPDATE SCHEDULE_FOR_DISABLE``."""
    words = [value[name] for name in _WORDS if value.get(name)][:1]
    for outer, inner in _INNER_WORDS:
        if word := part_of(value, outer).get(inner):
            words.append(word)
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
        restrictions=_restrictions(value),
        limits=_limits(value),
    )


def _restrictions(value: dict[str, Any]) -> tuple[Restriction, ...]:
    given = parts_of(value, "restriction_info")[:MOST_RESTRICTIONS]
    types = [each.get("restriction_type") for each in given]
    ends = map(end_of, given)
    return tuple(
        Restriction(name, until)
        for name, until in zip(types, ends, strict=True)
        if isinstance(name, str) and WORD.fullmatch(name)
    )


def _limits(value: dict[str, Any]) -> BusinessLimits | None:
    limits = BusinessLimits(
        *(number if type(number) is int else None for number in map(value.get, COUNTS))
    )
    return None if limits == BusinessLimits() else limits


def _values(field: str, value: dict[str, Any]) -> dict[str, str | None]:
    name = value.get("requested_verified_name")
    if field == NAME and value.get("decision") == "APPROVED" and isinstance(name, str):
        return {"display_name": name or None}
    given = (value.get(limit) for limit in LIMITS)
    return {"messaging_limit": next((limit for limit in given if isinstance(limit, str)), None)}


def _description(value: dict[str, Any]) -> str | None:
    """The platform's description, or None. An alert has it in an inner object or in the value itself."""
    alert = part_of(value, "alert_info") or value
    text = alert.get("alert_description") or value.get("rejection_reason")
    return text if isinstance(text, str) and text != "NONE" else None


def people_a_day(messaging_limit: str | None) -> int | None:
    """See networks.interface.Network."""
    tier = _TIER.fullmatch(messaging_limit or "")
    return None if tier is None else int(tier[1]) * (1_000 if tier[2] else 1)


def state_of(status: str) -> NumberState:
    """The state of a number with the platform's status."""
    return STATES.get(status, NumberState.OTHER)


def effect_of(value: Mapping[str, Any], app_id: str) -> AccountEffect | None:
    """What an account update changes for the app with this identifier. None for a notice."""
    ban = value.get("ban_info")
    detail = str(ban.get("waba_ban_state")) if isinstance(ban, dict) else None
    effect = EFFECTS.get((str(value.get("event", "")), detail))
    concerned = part_of(value, "waba_info").get("partner_app_id")
    if effect is None or concerned is None or str(concerned) == app_id:
        return effect
    return AccountEffect.OF_ANOTHER_APP


def in_words(reason: str) -> str:
    """The platform's names in a reason as sentences. The text of an error stays unchanged."""
    if not reason.isupper():
        return reason
    return " ".join(_sentence(name) for name in reason.split(BETWEEN_REASONS))


def _sentence(name: str) -> str:
    if name in _SENTENCES:
        return _SENTENCES[name]
    event, _, detail = name.partition(" ")
    if event == VIOLATION:
        return f"{_SENTENCES[VIOLATION].removesuffix('.')}: {_plain(detail)}."
    return f"{_plain(name).capitalize()}."


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()

"""The platform's states of numbers, what its account updates mean for them, and reasons in sentences."""

from collections.abc import Mapping
from typing import Any

from networks.interface import BETWEEN_REASONS, NumberState
from networks.items import AccountEffect
from networks.whatsapp import notices

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
    notices.VIOLATION: "WhatsApp says that the business violated a policy.",
    "BANNED": "WhatsApp banned the number and gave no reason.",
    "DISCONNECTED": "WhatsApp disconnected the number and gave no reason.",
    "UNVERIFIED": "The number is no longer verified.",
    "MIGRATED": "The number moved to another business account.",
    "DELETED": "The number was deleted.",
}


def state_of(status: str) -> NumberState:
    """The state of a number with the platform's status."""
    return STATES.get(status, NumberState.OTHER)


def effect_of(value: Mapping[str, Any], app_id: str) -> AccountEffect | None:
    """What an account update changes for the app with this identifier. None for a notice."""
    ban, info = value.get("ban_info"), value.get("waba_info")
    detail = str(ban.get("waba_ban_state")) if isinstance(ban, dict) else None
    effect = EFFECTS.get((str(value.get("event", "")), detail))
    concerned = info.get("partner_app_id") if isinstance(info, dict) else None
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
    if event == notices.VIOLATION:
        return f"{_SENTENCES[notices.VIOLATION].removesuffix('.')}: {_plain(detail)}."
    return f"{_plain(name).capitalize()}."


def _plain(name: str) -> str:
    return name.replace("_", " ").lower()

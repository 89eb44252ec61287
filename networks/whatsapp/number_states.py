"""The platform's states of numbers, and what its account updates mean for them."""

from collections.abc import Mapping
from typing import Any

from networks.interface import NumberState
from networks.items import AccountEffect

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

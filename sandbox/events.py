"""Announcements of a whole account, with what they do to its numbers and tokens.

Cloud API, Webhooks: ``account_update`` and the other fields of an account.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

from sandbox import clock, lifecycle
from sandbox.entities import BANNED, CONNECTED, DELETED, DISCONNECTED, Number, Waba
from sandbox.journal import Fact
from sandbox.state import Network

ACCOUNT_UPDATE = "account_update"
_NAME = re.compile(r"[A-Z][A-Z_]{2,63}")
_FIELD = re.compile(r"[a-z][a-z_]{2,63}")
DISABLE, REINSTATE, SCHEDULED = "DISABLE", "REINSTATE", "SCHEDULE_FOR_DISABLE"
THREE_DAYS = 3 * 24 * 3600

# Which numbers an announcement takes to which status. An event that is not here changes none.
_EFFECTS: dict[str, tuple[frozenset[str], str]] = {
    "PARTNER_REMOVED": (frozenset({CONNECTED, BANNED}), DISCONNECTED),
    lifecycle.UNINSTALLED: (frozenset({CONNECTED, BANNED}), DISCONNECTED),
    lifecycle.OFFBOARDED: (frozenset({CONNECTED, BANNED}), DISCONNECTED),
    "ACCOUNT_RECONNECTED": (frozenset({DISCONNECTED}), CONNECTED),
    "ACCOUNT_DELETED": (frozenset({CONNECTED, BANNED, DISCONNECTED}), DELETED),
    DISABLE: (frozenset({CONNECTED}), BANNED),
    REINSTATE: (frozenset({BANNED}), CONNECTED),
}
# After these the app has no business with the account: its tokens and its subscription are void.
_ENDINGS = {"PARTNER_REMOVED", lifecycle.UNINSTALLED}
_PARTNER_APP = {"PARTNER_APP_INSTALLED", lifecycle.UNINSTALLED}


def announce(network: Network, waba: Waba, body: dict[str, Any], app_id: str) -> str:
    """Record an announcement and its effects; the key under which it is owed.

    ``{event, ...}`` is an ``account_update``, ``{field, value}`` any other field. What is not given
    is filled in. Raises ValueError with the reason; then nothing has changed.
    """
    field = body.get("field", ACCOUNT_UPDATE)
    if not isinstance(field, str) or not _FIELD.fullmatch(field) or field == "messages":
        raise ValueError("field must be the name of a webhook field of accounts")
    value = (
        _account_update(waba, body, app_id)
        if field == ACCOUNT_UPDATE
        else _other(network, waba, field, body)
    )
    partner = field == ACCOUNT_UPDATE and value["event"].startswith("PARTNER_")
    announced = {
        "fact": "account",
        "key": "account-" + secrets.token_hex(8),
        "waba_id": waba.id,
        "entry_id": lifecycle.PROVIDER_BUSINESS_ID if partner else waba.id,
        "value": value,
        "at": clock.now(),
        "webhook_field": field,
    }
    network.record(announced, *(_effects(network, waba, value) if field == ACCOUNT_UPDATE else ()))
    return str(announced["key"])


def _account_update(waba: Waba, body: dict[str, Any], app_id: str) -> dict[str, Any]:
    event = body.get("event")
    if not isinstance(event, str) or not _NAME.fullmatch(event):
        raise ValueError("event must be the name of an event, as PARTNER_REMOVED")
    value: dict[str, Any] = {"event": event}
    if event.startswith("PARTNER_"):
        value["waba_info"] = {"waba_id": waba.id, "owner_business_id": waba.business_id}
    if event in _PARTNER_APP:
        value["waba_info"]["partner_app_id"] = app_id
    fill = _DETAILS.get(event)
    if fill is not None:
        value |= fill()
    given = {name: each for name, each in body.items() if name not in {"field", "event"}}
    for name, each in given.items():
        both = isinstance(each, dict) and isinstance(value.get(name), dict)
        value[name] = {**value[name], **each} if both else each
    if event == "DISABLED_UPDATE":
        _check_ban(value["ban_info"])
    return value


def _check_ban(ban: object) -> None:
    states = (DISABLE, REINSTATE, SCHEDULED)
    if not isinstance(ban, dict) or ban.get("waba_ban_state") not in states:
        raise ValueError(f"ban_info.waba_ban_state must be one of {', '.join(states)}")


def _effects(network: Network, waba: Waba, value: dict[str, Any]) -> list[Fact]:
    event = value["event"]
    cause = value["ban_info"]["waba_ban_state"] if event == "DISABLED_UPDATE" else event
    sources, target = _EFFECTS.get(cause, (frozenset(), ""))
    facts: list[Fact] = [
        {"fact": "status", "number_id": number.id, "status": target}
        for number in _numbers(network, waba)
        if number.status in sources
    ]
    if event in _ENDINGS:
        facts.append({"fact": "tokens_revoked", "waba_id": waba.id})
        facts.append({"fact": "subscription", "waba_id": waba.id, "subscribed": False})
    return facts


def _other(network: Network, waba: Waba, field: str, body: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(body) - {"field", "value"})
    value = body.get("value", {})
    if unknown or not isinstance(value, dict):
        raise ValueError("a field other than account_update has an object as value, nothing else")
    number = next(iter(_numbers(network, waba)), None)
    return {**_samples(waba, number).get(field, {}), **value}


def _numbers(network: Network, waba: Waba) -> list[Number]:
    return [number for number in network.numbers.values() if number.waba_id == waba.id]


_DETAILS: dict[str, Callable[[], dict[str, Any]]] = {
    "PARTNER_REMOVED": lambda: {
        "disconnection_info": {"reason": "ACCOUNT_DISCONNECTED", "initiated_by": "USER"}
    },
    "DISABLED_UPDATE": lambda: {
        "ban_info": {"waba_ban_state": DISABLE, "waba_ban_date": lifecycle.ban_date()}
    },
    "ACCOUNT_VIOLATION": lambda: {"violation_info": {"violation_type": "ADULT"}},
    "ACCOUNT_RESTRICTION": lambda: {
        "restriction_info": [
            {
                "restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING",
                "expiration": int(clock.now()) + THREE_DAYS,
            }
        ]
    },
}


def _samples(waba: Waba, number: Number | None) -> dict[str, dict[str, Any]]:
    """The shapes of the other fields, about the first number of the account."""
    digits = number.digits if number is not None else ""
    name = number.verified_name if number is not None else waba.name
    return {
        "phone_number_quality_update": {
            "display_phone_number": digits,
            "event": "THROUGHPUT_UPGRADE",
            "max_daily_conversations_per_business": "TIER_2K",
        },
        "phone_number_name_update": {
            "display_phone_number": digits,
            "decision": "APPROVED",
            "requested_verified_name": name,
        },
        "account_alerts": {
            "entity_type": "WABA",
            "entity_id": waba.id,
            "alert_info": {
                "alert_severity": "INFORMATIONAL",
                "alert_status": "ACTIVE",
                "alert_type": "OBA_APPROVED",
                "alert_description": "A sample of an alert.",
            },
        },
        "security": {"display_phone_number": digits, "event": "PIN_CHANGED"},
        "account_review_update": {"decision": "APPROVED"},
    }

"""Announcements of a whole account, with what they do to its numbers and tokens.

Cloud API, Webhooks: ``account_update`` and the other fields of an account.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from sandbox import account_updates, app_updates, clock, samples
from sandbox.entities import (
    BANNED,
    CONNECTED,
    DELETED,
    DISCONNECTED,
    GREEN,
    RED,
    UNKNOWN,
    YELLOW,
    Number,
    Waba,
)
from sandbox.journal import Fact
from sandbox.network import Network
from sandbox.samples import DISABLE

ACCOUNT_UPDATE = "account_update"
_NAME = re.compile(r"[A-Z][A-Z_]{2,63}")
_FIELD = re.compile(r"[a-z][a-z_]{2,63}")
REINSTATE, SCHEDULED = "REINSTATE", "SCHEDULE_FOR_DISABLE"
QUALITY, NAME, ALERTS = "phone_number_quality_update", "phone_number_name_update", "account_alerts"
QUALITIES = (GREEN, YELLOW, RED, UNKNOWN)

# The numbers whose status an announcement changes, and the new status. Other events change none.
_EFFECTS: dict[str, tuple[frozenset[str], str]] = {
    "PARTNER_REMOVED": (frozenset({CONNECTED, BANNED}), DISCONNECTED),
    account_updates.UNINSTALLED: (frozenset({CONNECTED, BANNED}), DISCONNECTED),
    account_updates.OFFBOARDED: (frozenset({CONNECTED, BANNED}), DISCONNECTED),
    "ACCOUNT_RECONNECTED": (frozenset({DISCONNECTED}), CONNECTED),
    "ACCOUNT_DELETED": (frozenset({CONNECTED, BANNED, DISCONNECTED}), DELETED),
    DISABLE: (frozenset({CONNECTED}), BANNED),
    REINSTATE: (frozenset({BANNED}), CONNECTED),
}
# After these the app has no business with the account: its tokens and its subscription are void.
_ENDINGS = {"PARTNER_REMOVED", account_updates.UNINSTALLED}
# What a change of the limit is called: the second name took the first one's place in 2026.
_LIMITS = ("max_daily_conversations_per_business", "current_limit")
_RATINGS = {"FLAGGED": RED, "UNFLAGGED": GREEN}


def announce(
    network: Network, waba: Waba, body: dict[str, Any], app_id: str, number: Number | None = None
) -> str:
    """Record an announcement and its effects. Returns the key of the update that must still be sent.

    ``{event, ...}`` is an ``account_update``, ``{field, value}`` any other field, about this ``number``
    or the first of the account. What is not given is filled in. Raises ValueError with the reason; then
    nothing has changed.
    """
    field = body.get("field", ACCOUNT_UPDATE)
    if not isinstance(field, str) or not _FIELD.fullmatch(field) or field == "messages":
        raise ValueError("field must be the name of a webhook field of accounts")
    facts: list[Fact]
    if field == ACCOUNT_UPDATE:
        value = _account_update(waba, body, app_id)
        facts = _effects(network, waba, value)
    else:
        number = number or next(iter(_numbers(network, waba)), None)
        value = _other(waba, number, field, body)
        facts = _effects_on_number(number, field, value, body)
    partner = field == ACCOUNT_UPDATE and value["event"].startswith("PARTNER_")
    entry_id = account_updates.PROVIDER_BUSINESS_ID if partner else waba.id
    announced = _announcement(waba.id, entry_id, field, value)
    network.record(announced, *facts)
    return str(announced["key"])


def flagged(number: Number) -> Fact:
    """The announcement that a number's quality is low."""
    value = {
        "display_phone_number": number.digits,
        "event": "FLAGGED",
        "current_limit": number.limit,
    }
    return _announcement(number.waba_id, number.waba_id, QUALITY, value)


def _announcement(waba_id: str, entry_id: str, field: str, value: dict[str, Any]) -> Fact:
    return {
        "fact": "account",
        "key": "account-" + secrets.token_hex(8),
        "waba_id": waba_id,
        "entry_id": entry_id,
        "value": value,
        "at": clock.now(),
        "webhook_field": field,
    }


def _account_update(waba: Waba, body: dict[str, Any], app_id: str) -> dict[str, Any]:
    event = body.get("event")
    if not isinstance(event, str) or not _NAME.fullmatch(event):
        raise ValueError("event must be the name of an event, as PARTNER_REMOVED")
    value = {"event": event} | samples.about_account(waba, event, app_id) | samples.details(event)
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


def _other(waba: Waba, number: Number | None, field: str, body: dict[str, Any]) -> dict[str, Any]:
    own = {QUALITY: {"quality_rating"}, ALERTS: {"flat"}}.get(field, set())
    unknown = sorted(set(body) - {"field", "value"} - own)
    value = body.get("value", {})
    if unknown or not isinstance(value, dict):
        raise ValueError("a field other than account_update has an object as value, nothing else")
    if field in app_updates.FIELDS:
        return app_updates.complete(field, number, value)
    filled = samples.other_field(field, waba, number)
    if field == ALERTS and _switch(body, "flat"):
        # Both forms are sent: the parts of the alert inside alert_info, or beside the entity.
        filled |= filled.pop("alert_info")
    if any(each in value for each in _LIMITS):
        filled = {name: each for name, each in filled.items() if name not in _LIMITS}
    return {**filled, **value}


def _switch(body: dict[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false")  # noqa: TRY004 - one kind of error for callers
    return value


def _effects_on_number(
    number: Number | None, field: str, value: dict[str, Any], body: dict[str, Any]
) -> list[Fact]:
    """What the node of the number shows from now on. Raises ValueError."""
    rating = body.get("quality_rating", _RATINGS.get(str(value.get("event"))))
    if rating not in (None, *QUALITIES):
        raise ValueError(f"quality_rating must be one of {', '.join(QUALITIES)}")
    changes: dict[str, Any] = {}
    if field == QUALITY:
        limits = [value[name] for name in _LIMITS if isinstance(value.get(name), str)]
        changes = {"quality": rating, "limit": next(iter(limits), None)}
    elif field == NAME:
        approved = value.get("decision") == "APPROVED"
        name = value.get("requested_verified_name") if approved else None
        changes = {"verified_name": name, "name_status": value.get("decision")}
    known = {name: each for name, each in changes.items() if isinstance(each, str)}
    if number is None or not known:
        return []
    return [{"fact": "number_changed", "number_id": number.id, **known}]


def _numbers(network: Network, waba: Waba) -> list[Number]:
    return [number for number in network.numbers.values() if number.waba_id == waba.id]

"""Bans, disconnections and reinstatements, and their ``account_update`` callbacks."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from sandbox import clock
from sandbox.entities import BANNED, CONNECTED, DISCONNECTED, Number
from sandbox.network import Network

UNINSTALLED, OFFBOARDED = "PARTNER_APP_UNINSTALLED", "ACCOUNT_OFFBOARDED"
# PARTNER_* updates come under the provider's own business, not the customer's WABA.
PROVIDER_BUSINESS_ID = "200000000000001"


def change_status(
    network: Network, number: Number, body: dict[str, Any], app_id: str
) -> str | None:
    """Set a number's status and record the announcement.

    Returns the key of the announcement, None when there is none. ``event`` picks between the two
    ways a number is DISCONNECTED. Raises ValueError with the reason.
    """
    status, event = body.get("status"), body.get("event", UNINSTALLED)
    if status not in (CONNECTED, DISCONNECTED, BANNED):
        raise ValueError("status must be CONNECTED, DISCONNECTED or BANNED")
    if event not in (UNINSTALLED, OFFBOARDED) or ("event" in body and status != DISCONNECTED):
        raise ValueError(
            f"event must be {UNINSTALLED} or {OFFBOARDED}, and goes with DISCONNECTED only"
        )
    unknown = sorted(set(body) - {"status", "event"})
    if unknown:
        raise ValueError(f"unknown property {unknown[0]}")
    if status == number.status:
        return None
    value = _announcement(network, number, str(status), str(event), app_id)
    changed = {"fact": "status", "number_id": number.id, "status": status}
    if value is None:
        network.record(changed)
        return None
    key = "account-" + secrets.token_hex(8)
    partner = str(value["event"]).startswith("PARTNER_")
    announced = {
        "fact": "account",
        "key": key,
        "waba_id": number.waba_id,
        "entry_id": PROVIDER_BUSINESS_ID if partner else number.waba_id,
        "value": value,
        "at": clock.now(),
    }
    network.record(changed, announced)
    return key


def _announcement(
    network: Network, number: Number, status: str, event: str, app_id: str
) -> dict[str, Any] | None:
    if status == BANNED:
        return _ban("DISABLE")
    if status == CONNECTED:
        endings = {BANNED: _ban("REINSTATE"), DISCONNECTED: {"event": "ACCOUNT_RECONNECTED"}}
        return endings.get(number.status)
    if event == OFFBOARDED:
        return {"event": OFFBOARDED}
    waba = network.wabas[number.waba_id]
    info = {"waba_id": waba.id, "owner_business_id": waba.business_id, "partner_app_id": app_id}
    return {"event": UNINSTALLED, "waba_info": info}


def _ban(state: str) -> dict[str, Any]:
    return {
        "event": "DISABLED_UPDATE",
        "ban_info": {"waba_ban_state": state, "waba_ban_date": ban_date()},
    }


def ban_date() -> str:
    """Today, in the date format of a ban."""
    now = datetime.fromtimestamp(clock.now(), UTC)
    return f"{now:%B} {now.day}, {now.year}"

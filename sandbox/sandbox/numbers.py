"""Registering business numbers on the platform (Cloud API, Registration)."""

from __future__ import annotations

import re
from typing import Any

from aiohttp import web

from sandbox import auth, clock, graph_errors, number_settings, overrides, verification
from sandbox.bodies import graph_body, require_product
from sandbox.contents.validators import text
from sandbox.entities import BANNED, CONNECTED, Number
from sandbox.journal import Fact
from sandbox.keys import NETWORK

_PIN = re.compile(r"[0-9]{6}")
check_name = text(verification.MAX_NAME, refusal=graph_errors.parameter)
# Of registrations and deregistrations together (Cloud API, Registration: limits).
MOST_REGISTRATIONS, REGISTRATION_PERIOD = 10, 72 * 3600.0


async def register(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/register``: the number is CONNECTED and can send.

    The first PIN is kept as the number's two-step verification; a later one must be the same
    (133005).
    """
    number = auth.own_number(request)
    payload = await graph_body(request)
    require_product(payload)
    pin = _pin(payload)
    if number.status == BANNED:
        raise graph_errors.known(131031)
    verification.require_verified(number)
    _check_limit(request, number)
    if number.pin is not None and number.pin != pin:
        raise graph_errors.known(133005)
    request.app[NETWORK].record(
        {"fact": "registered", "number_id": number.id, "pin": pin, "at": clock.now()}
    )
    return web.json_response({"success": True})


async def deregister(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/deregister``: the number sends and receives no more."""
    number = auth.own_number(request)
    if number.status != CONNECTED:
        raise graph_errors.known(133010)
    _check_limit(request, number)
    request.app[NETWORK].record({"fact": "deregistered", "number_id": number.id, "at": clock.now()})
    return web.json_response({"success": True})


async def change(request: web.Request) -> web.Response:
    """``POST {phone_number_id}``: set the PIN, where its callbacks go, another display name, or a username.

    A PIN may also be in ``whatsapp_business_api_data``. Nothing changes when one of them is refused.
    """
    number = auth.own_number(request)
    payload = await graph_body(request)
    facts = _changes(number, payload)
    if "webhook_configuration" in payload:
        await overrides.configure(request, number, payload["webhook_configuration"])
    elif not facts:
        raise graph_errors.parameter("The parameter pin or webhook_configuration is required.")
    request.app[NETWORK].record(*facts)
    return web.json_response({"success": True})


def _changes(number: Number, payload: dict[str, Any]) -> list[Fact]:
    facts: list[Fact] = []
    holder = payload.get("whatsapp_business_api_data", payload)
    if isinstance(holder, dict) and "pin" in holder:
        facts.append({"fact": "pin_set", "number_id": number.id, "pin": _pin(holder)})
    kept: dict[str, str] = {}
    if "new_display_name" in payload:
        check_name("new_display_name", payload["new_display_name"])
        kept |= {
            "new_display_name": payload["new_display_name"],
            "new_name_status": "PENDING_REVIEW",
        }
    if number_settings.USERNAME in payload:
        kept[number_settings.USERNAME] = number_settings.username(payload["username"])
    return facts + [
        {"fact": "kept", "owner_id": number.id, "name": name, "value": value}
        for name, value in kept.items()
    ]


def _pin(payload: dict[str, Any]) -> str:
    pin = payload.get("pin")
    if pin is None:
        raise graph_errors.parameter("The parameter pin is required.")
    if not isinstance(pin, str) or not _PIN.fullmatch(pin):
        raise graph_errors.parameter("Param pin must be 6 characters long.")
    return pin


def _check_limit(request: web.Request, number: Number) -> None:
    since = clock.now() - REGISTRATION_PERIOD
    recent = sum(at > since for at in number.registrations)
    if request.app[NETWORK].behaviour.register_limit and recent >= MOST_REGISTRATIONS:
        raise graph_errors.known(133016)

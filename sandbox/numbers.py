"""Registering business numbers on the platform (Cloud API, Registration)."""

from __future__ import annotations

import re
from typing import Any

from aiohttp import web

from sandbox import auth, clock, errors, overrides, templates_graph
from sandbox.bodies import graph_body, require_product
from sandbox.entities import BANNED, CONNECTED, Number
from sandbox.keys import NETWORK

_PIN = re.compile(r"[0-9]{6}")
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
        raise errors.known(131031)
    _check_limit(request, number)
    if number.pin is not None and number.pin != pin:
        raise errors.known(133005)
    request.app[NETWORK].record(
        {"fact": "registered", "number_id": number.id, "pin": pin, "at": clock.now()}
    )
    return web.json_response({"success": True})


async def deregister(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/deregister``: the number sends and receives no more."""
    number = auth.own_number(request)
    if number.status != CONNECTED:
        raise errors.known(133010)
    _check_limit(request, number)
    request.app[NETWORK].record({"fact": "deregistered", "number_id": number.id, "at": clock.now()})
    return web.json_response({"success": True})


async def change(request: web.Request) -> web.Response:
    """``POST {phone_number_id}``: set the PIN, or where this number's callbacks go.

    ``POST {template_id}`` edits a template.
    """
    if request.match_info["object_id"] in request.app[NETWORK].templates:
        return await templates_graph.edit(request)
    number = auth.own_number(request)
    payload = await graph_body(request)
    if "webhook_configuration" in payload:
        await overrides.configure(request, number, payload["webhook_configuration"])
    elif "pin" in payload:
        pin = _pin(payload)
        request.app[NETWORK].record({"fact": "pin_set", "number_id": number.id, "pin": pin})
    else:
        raise errors.parameter("The parameter pin or webhook_configuration is required.")
    return web.json_response({"success": True})


def _pin(payload: dict[str, Any]) -> str:
    pin = payload.get("pin")
    if pin is None:
        raise errors.parameter("The parameter pin is required.")
    if not isinstance(pin, str) or not _PIN.fullmatch(pin):
        raise errors.parameter("Param pin must be 6 characters long.")
    return pin


def _check_limit(request: web.Request, number: Number) -> None:
    since = clock.now() - REGISTRATION_PERIOD
    recent = sum(at > since for at in number.registrations)
    if request.app[NETWORK].behaviour.register_limit and recent >= MOST_REGISTRATIONS:
        raise errors.known(133016)

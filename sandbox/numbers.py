"""Registering business numbers on the platform (Cloud API, Registration)."""

from __future__ import annotations

import re

from aiohttp import web

from sandbox import auth, clock, errors
from sandbox.bodies import graph_body, require_product
from sandbox.entities import BANNED, CONNECTED, DISCONNECTED
from sandbox.keys import NETWORK

_PIN = re.compile(r"[0-9]{6}")


async def register(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/register``: the number is CONNECTED and can send.

    The first PIN is kept as the number's two-step verification; a later one must be the same
    (133005).
    """
    number = auth.own_number(request)
    payload = await graph_body(request)
    require_product(payload)
    pin = payload.get("pin")
    if pin is None:
        raise errors.parameter("The parameter pin is required.")
    if not isinstance(pin, str) or not _PIN.fullmatch(pin):
        raise errors.parameter("Param pin must be 6 characters long.")
    if number.status == BANNED:
        raise errors.known(131031)
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
    request.app[NETWORK].record({"fact": "status", "number_id": number.id, "status": DISCONNECTED})
    return web.json_response({"success": True})

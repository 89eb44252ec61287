"""``POST {phone_number_id}/smb_app_data``: send the contacts or the history of a number of the app."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import auth, events, graph_errors
from sandbox.bodies import graph_body, require_product
from sandbox.keys import DISPATCHER, NETWORK, SETTINGS
from sandbox.signup import ON_APP

NAME = "smb_app_data"
KINDS = ("smb_app_state_sync", "history")


async def synchronize(request: web.Request) -> web.Response:
    """Send a sample as callback. Raises GraphError 100 for a number that is not used in the app."""
    number, network = auth.own_number(request), request.app[NETWORK]
    payload = await graph_body(request)
    require_product(payload)
    kind = payload.get("sync_type")
    if kind not in KINDS:
        raise graph_errors.parameter(f"Param sync_type must be one of {{{', '.join(KINDS)}}}")
    if not number.kept.get(ON_APP):
        raise graph_errors.parameter("The number is not used in the WhatsApp Business app.")
    waba = network.wabas[number.waba_id]
    key = events.announce(network, waba, {"field": kind}, request.app[SETTINGS].app_id, number)
    update: Any = network.owed[key]
    request.app[DISPATCHER].announce(update)
    return web.json_response({"messaging_product": "whatsapp", "request_id": key})

"""Paths of a WhatsApp Business Account, and of any node by its id."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import attachments, auth, overrides, templates_graph
from sandbox.bodies import graph_body
from sandbox.keys import NETWORK, SETTINGS
from sandbox.nodes import number_node, waba_node


async def get_node(request: web.Request) -> web.Response:
    """``GET {id}``: a number, a WABA, media or a template, with ``fields``."""
    fields = request.query.get("fields")
    if request.match_info["object_id"] in request.app[NETWORK].wabas:
        return web.json_response(waba_node(auth.own_waba(request), fields))
    if request.match_info["object_id"] in request.app[NETWORK].media:
        return web.json_response(attachments.node(request))
    if request.match_info["object_id"] in request.app[NETWORK].templates:
        return web.json_response(templates_graph.node(request, fields))
    number = auth.own_number(request)
    return web.json_response(number_node(number, fields, overrides.in_force(request, number)))


async def list_numbers(request: web.Request) -> web.Response:
    """``GET {waba_id}/phone_numbers``: all of them on one page."""
    waba = auth.own_waba(request)
    numbers = [
        number for number in request.app[NETWORK].numbers.values() if number.waba_id == waba.id
    ]
    fields = request.query.get("fields")
    data = [number_node(each, fields, overrides.in_force(request, each)) for each in numbers]
    return web.json_response(
        {"data": data, "paging": {"cursors": {"before": "QVFI", "after": "QVFI"}}}
    )


async def subscribe(request: web.Request) -> web.Response:
    """``POST {waba_id}/subscribed_apps``: after the handshake, callbacks of this WABA are sent.

    With ``override_callback_uri`` they go there, without it to the app's URL again.
    """
    waba = auth.own_waba(request)
    payload = await graph_body(request)
    url = None
    if "override_callback_uri" in payload:
        url = await overrides.check(request, payload, waba.id)
    else:
        settings = request.app[SETTINGS]
        await overrides.shake_hands(request, settings.callback_url, settings.verify_token)
    if not waba.subscribed or waba.override_url != url:
        request.app[NETWORK].record(
            {"fact": "subscription", "waba_id": waba.id, "subscribed": True, "override_url": url}
        )
    return web.json_response({"success": True})


async def list_subscriptions(request: web.Request) -> web.Response:
    """``GET {waba_id}/subscribed_apps``: our app, or nothing."""
    waba = auth.own_waba(request)
    app = {
        "id": request.app[SETTINGS].app_id,
        "name": "Sandbox",
        "link": "https://www.facebook.com/games/",
    }
    subscription: dict[str, Any] = {"whatsapp_business_api_data": app}
    if waba.override_url is not None:
        subscription["override_callback_uri"] = waba.override_url
    return web.json_response({"data": [subscription] if waba.subscribed else []})


async def unsubscribe(request: web.Request) -> web.Response:
    """``DELETE {waba_id}/subscribed_apps``: from now on its callbacks are dropped."""
    waba = auth.own_waba(request)
    if waba.subscribed:
        request.app[NETWORK].record(
            {"fact": "subscription", "waba_id": waba.id, "subscribed": False}
        )
    return web.json_response({"success": True})

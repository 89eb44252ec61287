"""The paths of a WhatsApp Business Account, and of any node by its id."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import attachments, auth, graph_errors, overrides, templates_graph, uploads
from sandbox.bodies import graph_body
from sandbox.contents.validators import text
from sandbox.entities import Number, Waba
from sandbox.keys import NETWORK, SETTINGS
from sandbox.meters import level_of
from sandbox.nodes import app_node, business_node, number_node, waba_node

SETTABLE = ("name", "timezone_id", "disable_marketing_messages_on_cloud_api")
check_line = text(100, refusal=graph_errors.parameter)


async def get_node(request: web.Request) -> web.Response:
    """``GET {id}`` with ``fields``: a number, an account, media, a template, the app, or a business."""
    fields, object_id = request.query.get("fields"), request.match_info["object_id"]
    network = request.app[NETWORK]
    if object_id in network.wabas:
        waba = auth.own_waba(request)
        return web.json_response(waba_node(waba, fields, subscriptions_of(request, waba)))
    if object_id in network.media or object_id in network.templates:
        is_media = object_id in network.media
        shown = attachments.node(request) if is_media else templates_graph.node(request, fields)
        return web.json_response(shown)
    if object_id == request.app[SETTINGS].app_id:
        auth.require_any(request)
        return web.json_response(app_node(object_id, fields))
    if object_id.startswith(uploads.SESSION):
        return uploads.show(request)
    if any(waba.business_id == object_id for waba in network.wabas.values()):
        return web.json_response(business_node(auth.own_business(request)[0], fields))
    number = auth.own_number(request)
    return web.json_response(_number(request, number, fields))


async def list_numbers(request: web.Request) -> web.Response:
    """``GET {waba_id}/phone_numbers``: all of them on one page."""
    waba = auth.own_waba(request)
    numbers = [
        number for number in request.app[NETWORK].numbers.values() if number.waba_id == waba.id
    ]
    fields = request.query.get("fields")
    data = [_number(request, each, fields) for each in numbers]
    return web.json_response(
        {"data": data, "paging": {"cursors": {"before": "QVFI", "after": "QVFI"}}}
    )


def _number(request: web.Request, number: Number, fields: str | None) -> dict[str, Any]:
    level = level_of(number, request.app[NETWORK].behaviour)
    return number_node(number, fields, overrides.in_force(request, number), level)


async def change(request: web.Request) -> web.Response:
    """``POST {waba_id}``: set its name, its time zone, and its route for marketing messages."""
    waba, given = auth.own_waba(request), await graph_body(request)
    changes = {name: value for name, value in given.items() if name in SETTABLE}
    if not changes:
        raise graph_errors.parameter(f"One of {', '.join(SETTABLE)} is required.")
    for name in {"name", "timezone_id"} & set(changes):
        check_line(name, changes[name])
    request.app[NETWORK].record(
        *(
            {"fact": "kept", "owner_id": waba.id, "name": name, "value": value}
            for name, value in changes.items()
        )
    )
    return web.json_response({"success": True, "id": waba.id})


async def subscribe(request: web.Request) -> web.Response:
    """``POST {waba_id}/subscribed_apps``: after the handshake, callbacks of this WABA are sent.

    They go to ``override_callback_uri`` if it is given, otherwise to the app's URL.
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
    return web.json_response(subscriptions_of(request, auth.own_waba(request)))


def subscriptions_of(request: web.Request, waba: Waba) -> dict[str, Any]:
    """What ``subscribed_apps`` of an account lists."""
    app = app_node(request.app[SETTINGS].app_id, None)
    subscription: dict[str, Any] = {"whatsapp_business_api_data": app}
    if waba.override_url is not None:
        subscription["override_callback_uri"] = waba.override_url
    return {"data": [subscription] if waba.subscribed else []}


async def list_accounts(request: web.Request) -> web.Response:
    """``GET {business_id}/client_whatsapp_business_accounts`` and ``owned_...``: the token's accounts."""
    fields = request.query.get("fields")
    wabas = auth.own_business(request)
    return web.json_response(
        {"data": [waba_node(each, fields, subscriptions_of(request, each)) for each in wabas]}
    )


async def unsubscribe(request: web.Request) -> web.Response:
    """``DELETE {waba_id}/subscribed_apps``: drop the callbacks of this WABA from now on."""
    waba = auth.own_waba(request)
    if waba.subscribed:
        request.app[NETWORK].record(
            {"fact": "subscription", "waba_id": waba.id, "subscribed": False}
        )
    return web.json_response({"success": True})

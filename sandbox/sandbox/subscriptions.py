"""Subscriptions to callbacks: of the app to fields, and of accounts to the app.

Cloud API, Webhooks; Graph API, Subscriptions.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors, overrides
from sandbox.accounts import subscriptions_of
from sandbox.bodies import decoded, graph_body
from sandbox.control_api import PREFIX, ControlError, control_body
from sandbox.keys import NETWORK, SETTINGS

OBJECT = "whatsapp_business_account"
# The fields to which the app is subscribed at first.
FIELDS = (
    "account_alerts",
    "account_review_update",
    "account_update",
    "business_capability_update",
    "calls",
    "history",
    "message_template_components_update",
    "message_template_quality_update",
    "message_template_status_update",
    "messages",
    "phone_number_name_update",
    "phone_number_quality_update",
    "security",
    "smb_app_state_sync",
    "smb_message_echoes",
    "template_category_update",
    "user_id_update",
    "user_preferences",
)


def add_routes(app: web.Application) -> None:
    """Register the control path."""
    app.add_routes([web.post(f"{PREFIX}/wabas/{{waba_id}}/subscription", change)])


async def list_fields(request: web.Request) -> web.Response:
    """``GET {app_id}/subscriptions``: the callback URL of the app, and its fields."""
    _require_app(request)
    chosen = request.app[NETWORK].app_fields
    fields = [{"name": name, "version": "v25.0"} for name in sorted(chosen or FIELDS)]
    url = request.app[SETTINGS].callback_url
    listed = {"object": OBJECT, "callback_url": url, "active": True, "fields": fields}
    return web.json_response({"data": [listed]})


async def subscribe_app(request: web.Request) -> web.Response:
    """``POST {app_id}/subscriptions``: set the fields, after the URL's handshake.

    The sandbox's own URL stays in use.
    """
    _require_app(request)
    given = await graph_body(request)
    for name in ("object", "callback_url", "verify_token", "fields"):
        if not given.get(name):
            raise graph_errors.parameter(f"The parameter {name} is required.")
    await overrides.shake_hands(request, str(given["callback_url"]), str(given["verify_token"]))
    request.app[NETWORK].record({"fact": "app_fields", "fields": _names(given["fields"])})
    return web.json_response({"success": True})


def _require_app(request: web.Request) -> None:
    auth.require_app_token(request)
    if request.match_info["object_id"] != request.app[SETTINGS].app_id:
        raise graph_errors.no_such_object(request.method, request.match_info["object_id"])


def _names(given: object) -> list[str]:
    """The fields, which clients write as an array or separated by commas."""
    listed = decoded(given)
    names = listed if isinstance(listed, list) else str(listed).split(",")
    return sorted({str(name).strip() for name in names} - {""})


async def change(request: web.Request) -> web.Response:
    """End or begin the subscription of an account behind the app's back, or send its callbacks elsewhere.

    ``subscribed`` is true or false, ``override_url`` a URL or null.
    """
    network, body = request.app[NETWORK], await control_body(request)
    waba = network.wabas.get(request.match_info["waba_id"])
    if waba is None:
        raise ControlError(404, "there is no account with this waba_id")
    values: dict[str, Any] = {"subscribed": waba.subscribed, "override_url": waba.override_url}
    values |= body
    url = values["override_url"]
    if set(values) != {"subscribed", "override_url"} or not isinstance(values["subscribed"], bool):
        raise ControlError(400, "subscribed must be true or false, override_url a URL or null")
    if url is not None and not (isinstance(url, str) and overrides.is_url(url)):
        raise ControlError(400, "override_url must be an http or https URL, or null")
    network.record({"fact": "subscription", "waba_id": waba.id, **values})
    return web.json_response(subscriptions_of(request, waba))

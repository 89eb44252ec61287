"""The Graph paths, each with any version prefix and without one (Graph API, Versioning)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from sandbox import (
    accounts,
    app_sync,
    attachments,
    blocking,
    number_settings,
    numbers,
    oauth,
    profiles,
    qr_codes,
    sending,
    subscriptions,
    templates_edges,
    templates_graph,
    uploads,
    verification,
)
from sandbox.keys import NETWORK

VERSION = r"/{version:v\d+\.\d+}"
OBJECT = r"/{object_id:[^/_][^/]*}"
# A trailing slash is ignored.
END = "{end:/?}"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def change_node(request: web.Request) -> web.StreamResponse:
    """``POST {id}``: a number, an account, a template, or the bytes of an upload."""
    object_id = request.match_info["object_id"]
    if object_id.startswith(uploads.SESSION):
        return await uploads.receive(request)
    if object_id in request.app[NETWORK].wabas:
        return await accounts.change(request)
    if object_id in request.app[NETWORK].templates:
        return await templates_graph.edit(request)
    return await numbers.change(request)


# The most frequent paths come first: they are tried in this order.
ROUTES: dict[str, dict[str, Handler]] = {
    f"{OBJECT}/messages": {"POST": sending.post_message},
    f"{OBJECT}/marketing_messages": {"POST": sending.post_message},
    "/oauth/access_token": {"GET": oauth.exchange_code, "POST": oauth.exchange_code},
    "/debug_token": {"GET": oauth.debug_token},
    f"{OBJECT}": {"GET": accounts.get_node, "POST": change_node, "DELETE": attachments.delete},
    # Of an account, a business, the app.
    f"{OBJECT}/phone_numbers": {
        "GET": accounts.list_numbers,
        "POST": verification.create_number,
    },
    f"{OBJECT}/subscribed_apps": {
        "GET": accounts.list_subscriptions,
        "POST": accounts.subscribe,
        "DELETE": accounts.unsubscribe,
    },
    f"{OBJECT}/message_templates": {
        "GET": templates_graph.fetch,
        "POST": templates_graph.create,
        "DELETE": templates_graph.delete,
    },
    f"{OBJECT}/upsert_message_templates": {"POST": templates_edges.upsert},
    f"{OBJECT}/compare": {"GET": templates_edges.compare},
    f"{OBJECT}/unpause": {"POST": templates_edges.unpause},
    f"{OBJECT}/client_whatsapp_business_accounts": {"GET": accounts.list_accounts},
    f"{OBJECT}/owned_whatsapp_business_accounts": {"GET": accounts.list_accounts},
    f"{OBJECT}/subscriptions": {
        "GET": subscriptions.list_fields,
        "POST": subscriptions.subscribe_app,
    },
    f"{OBJECT}/uploads": {"POST": uploads.begin},
    # Of a number.
    f"{OBJECT}/register": {"POST": numbers.register},
    f"{OBJECT}/deregister": {"POST": numbers.deregister},
    f"{OBJECT}/{app_sync.NAME}": {"POST": app_sync.synchronize},
    f"{OBJECT}/request_code": {"POST": verification.request_code},
    f"{OBJECT}/verify_code": {"POST": verification.verify_code},
    f"{OBJECT}/media": {"POST": attachments.upload},
    f"{OBJECT}/{profiles.NAME}": {"GET": profiles.show, "POST": profiles.change},
    f"{OBJECT}/{blocking.NAME}": {
        "GET": blocking.show,
        "POST": blocking.block,
        "DELETE": blocking.unblock,
    },
    f"{OBJECT}/{qr_codes.NAME}": {"GET": qr_codes.show_all, "POST": qr_codes.write},
    f"{OBJECT}/{qr_codes.NAME}/{{code:[^/]+}}": {
        "GET": qr_codes.show,
        "POST": qr_codes.write,
        "DELETE": qr_codes.delete,
    },
    f"{OBJECT}/{number_settings.COMMERCE}": {
        "GET": number_settings.show_commerce,
        "POST": number_settings.changer(number_settings.COMMERCE),
    },
    f"{OBJECT}/settings": {
        "GET": number_settings.show_settings,
        "POST": number_settings.changer("settings"),
    },
    f"{OBJECT}/{number_settings.AUTOMATION}": {
        "POST": number_settings.changer(number_settings.AUTOMATION),
    },
    f"{OBJECT}/whatsapp_business_encryption": {
        "GET": number_settings.show_encryption,
        "POST": number_settings.changer("whatsapp_business_encryption"),
    },
    f"{OBJECT}/{number_settings.USERNAME}": {
        "GET": number_settings.show_username,
        "POST": number_settings.set_username,
        "DELETE": number_settings.delete_username,
    },
    f"{OBJECT}/username_suggestions": {"GET": number_settings.suggest_usernames},
}


def add_routes(app: web.Application) -> None:
    """Register every Graph path."""
    for prefix in (VERSION, ""):
        for path, handlers in ROUTES.items():
            resource = app.router.add_resource(f"{prefix}{path}{END}")
            for method, handler in handlers.items():
                resource.add_route(method, handler)
            if "GET" in handlers:
                resource.add_route("HEAD", handlers["GET"])

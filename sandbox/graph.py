"""The Graph paths, each with any version prefix and without one (Graph API, Versioning)."""

from __future__ import annotations

from aiohttp import web

from sandbox import accounts, attachments, numbers, oauth, sending, templates_graph

VERSION = r"/{version:v\d+\.\d+}"
OBJECT = r"/{object_id:[^/_][^/]*}"


def add_routes(app: web.Application) -> None:
    """Register every Graph path."""
    for prefix in (VERSION, ""):
        app.add_routes(
            [
                web.get(f"{prefix}/oauth/access_token", oauth.exchange_code),
                web.get(f"{prefix}/debug_token", oauth.debug_token),
                web.get(f"{prefix}{OBJECT}/phone_numbers", accounts.list_numbers),
                web.post(f"{prefix}{OBJECT}/subscribed_apps", accounts.subscribe),
                web.get(f"{prefix}{OBJECT}/subscribed_apps", accounts.list_subscriptions),
                web.delete(f"{prefix}{OBJECT}/subscribed_apps", accounts.unsubscribe),
                web.get(f"{prefix}{OBJECT}/message_templates", templates_graph.fetch),
                web.post(f"{prefix}{OBJECT}/message_templates", templates_graph.create),
                web.delete(f"{prefix}{OBJECT}/message_templates", templates_graph.delete),
                web.post(f"{prefix}{OBJECT}/register", numbers.register),
                web.post(f"{prefix}{OBJECT}/deregister", numbers.deregister),
                web.post(f"{prefix}{OBJECT}", numbers.change),
                web.post(f"{prefix}{OBJECT}/messages", sending.post_message),
                web.post(f"{prefix}{OBJECT}/media", attachments.upload),
                web.delete(f"{prefix}{OBJECT}", attachments.delete),
                web.get(f"{prefix}{OBJECT}", accounts.get_node),
            ]
        )

"""Settings of a number: commerce, calls, storage, automation and others.

The sandbox stores and returns them. They have no other effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors
from sandbox.bodies import decoded, graph_body
from sandbox.contents.validators import Check, array, fields, require_object, text
from sandbox.keys import NETWORK
from sandbox.nodes import pick

COMMERCE = "whatsapp_commerce_settings"
AUTOMATION = "conversational_automation"
USERNAME = "username"
_USERNAME = re.compile(r"(?=.*[a-z])[a-z0-9_][a-z0-9_.]{1,33}[a-z0-9_]", re.ASCII)


def _object(place: str, value: Any) -> None:
    require_object(place, value)


def _switch(place: str, value: Any) -> None:
    if str(value).lower() not in {"true", "false"}:
        raise graph_errors.parameter(f"Param {place} must be a boolean.")


COMMAND = fields({"command_name": text(32), "command_description": text(256)})
# The settings of each edge, with their checks.
EDGES: dict[str, dict[str, Check]] = {
    COMMERCE: {"is_catalog_visible": _switch, "is_cart_enabled": _switch},
    "settings": dict.fromkeys(
        ("calling", "payload_encryption", "storage_configuration", "user_identity_change"), _object
    ),
    AUTOMATION: {
        "enable_welcome_message": _switch,
        "prompts": array(text(80), 4, least=0),
        "commands": array(COMMAND, 30, least=0),
    },
    "whatsapp_business_encryption": {"business_public_key": text(4096)},
}


async def show_commerce(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/whatsapp_commerce_settings``: both are off until they are turned on."""
    number = auth.own_number(request)
    off = {"is_catalog_visible": False, "is_cart_enabled": False}
    known = {"id": number.id, "catalog_id": None} | off | number.kept.get(COMMERCE, {})
    shown = pick(known, request.query.get("fields"), tuple(off), "WhatsAppCommerceSettings")
    return web.json_response({"data": [shown]})


async def show_settings(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/settings``."""
    number = auth.own_number(request)
    off: dict[str, Any] = {
        "calling": {"status": "DISABLED"},
        "storage_configuration": {"status": "DEFAULT"},
    }
    return web.json_response(off | number.kept.get("settings", {}))


async def show_encryption(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/whatsapp_business_encryption``: the public key, if there is one."""
    kept = auth.own_number(request).kept.get("whatsapp_business_encryption")
    status = {"business_public_key_signature_status": "VALID"}
    return web.json_response({"data": [] if kept is None else [kept | status]})


def changer(edge: str) -> Callable[[web.Request], Any]:
    """The handler of ``POST {phone_number_id}/{edge}``: the given settings replace the stored ones."""

    async def change(request: web.Request) -> web.Response:
        number, given = auth.own_number(request), await graph_body(request)
        # Clients write arrays as JSON texts, inside of a JSON body too.
        changes = {name: decoded(value) for name, value in given.items() if name in EDGES[edge]}
        if not changes:
            raise graph_errors.parameter(f"One of {', '.join(EDGES[edge])} is required.")
        for name, value in changes.items():
            EDGES[edge][name](name, value)
            if EDGES[edge][name] is _switch:
                changes[name] = str(value).lower() == "true"
        request.app[NETWORK].record_value(number, edge, number.kept.get(edge, {}) | changes)
        return web.json_response({"success": True})

    return change


async def show_username(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/username``. Raises GraphError 100/33 when there is none."""
    number = auth.own_number(request)
    if number.kept.get(USERNAME) is None:
        raise graph_errors.no_such_object(request.method, number.id)
    return web.json_response({USERNAME: number.kept[USERNAME], "status": "approved"})


async def set_username(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/username``."""
    number, given = auth.own_number(request), await graph_body(request)
    request.app[NETWORK].record_value(number, USERNAME, username(given.get(USERNAME)))
    return web.json_response({"status": "approved"})


async def delete_username(request: web.Request) -> web.Response:
    """``DELETE {phone_number_id}/username``."""
    request.app[NETWORK].record_value(auth.own_number(request), USERNAME, None)
    return web.json_response({"success": True})


async def suggest_usernames(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/username_suggestions``: names made of the business's."""
    number = auth.own_number(request)
    plain = re.sub(r"[^a-z0-9]+", "_", number.verified_name.lower()).strip("_") or "business"
    names = [plain[:30], f"{plain[:25]}.{number.digits[-4:]}"]
    return web.json_response({"data": [{"username_suggestions": names}]})


def username(value: object) -> str:
    """A username as the platform allows it. Raises GraphError 100."""
    if not isinstance(value, str) or not _USERNAME.fullmatch(value.lower()):
        raise graph_errors.parameter(
            "Param username must be 3 to 35 letters, digits, full stops and underscores."
        )
    return value.lower()

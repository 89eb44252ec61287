"""The business profile of a number (Cloud API reference, Business profiles)."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors, uploads
from sandbox.bodies import graph_body, require_product
from sandbox.contents.validators import Check, array, link, matching, text
from sandbox.keys import NETWORK
from sandbox.nodes import pick

NAME = "whatsapp_business_profile"
FIELDS = (
    "about",
    "address",
    "description",
    "email",
    "profile_picture_url",
    "websites",
    "vertical",
    "messaging_product",
)
# fmt: off
VERTICALS = (
    "ALCOHOL", "APPAREL", "AUTO", "BEAUTY", "EDU", "ENTERTAIN", "EVENT_PLAN", "FINANCE", "GOVT",
    "GROCERY", "HEALTH", "HOTEL", "MATRIMONY_SERVICE", "NONPROFIT", "NOT_A_BIZ",
    "ONLINE_GAMBLING", "OTC_DRUGS", "OTHER", "PHYSICAL_GAMBLING", "PROF_SERVICES", "RESTAURANT",
    "RETAIL", "TRAVEL", "UNDEFINED",
)
# fmt: on
# A link or an address of at most this many characters.
MOST = 256


def _website(place: str, value: Any) -> None:
    text(MOST, refusal=graph_errors.parameter)(place, value)
    link(place, value)


def _vertical(place: str, value: Any) -> None:
    if str(value).upper() not in VERTICALS and value != "":
        raise graph_errors.parameter(f"Param {place} must be one of {{{', '.join(VERTICALS)}}}")


CHECKS: dict[str, Check] = {
    "about": text(139, refusal=graph_errors.parameter),
    "address": text(MOST, least=0, refusal=graph_errors.parameter),
    "description": text(512, least=0, refusal=graph_errors.parameter),
    "email": matching(r"|(?=.{3,128}\Z)[^@\t-\r ]+@[^@\t-\r ]+", "an email address"),
    "websites": array(_website, 2, least=0),
    "vertical": _vertical,
}


async def show(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/whatsapp_business_profile``, with ``fields``."""
    number = auth.own_number(request)
    profile = {"vertical": "UNDEFINED"} | number.kept.get(NAME, {})
    everything = (
        dict.fromkeys(FIELDS) | profile | {"messaging_product": "whatsapp", "id": number.id}
    )
    fields = request.query.get("fields")
    # The platform always names the product here, and never the id.
    shown = pick(everything, fields, ("messaging_product",), "WhatsAppBusinessProfile")
    del shown["id"]
    return web.json_response({"data": [shown | {"messaging_product": "whatsapp"}]})


async def change(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/whatsapp_business_profile``: the given fields replace the stored ones."""
    number = auth.own_number(request)
    given = await graph_body(request)
    require_product(given)
    changes = {name: value for name, value in given.items() if name in CHECKS}
    for name, value in changes.items():
        CHECKS[name](name, value)
    if "vertical" in changes:
        changes["vertical"] = str(changes["vertical"]).upper() or "UNDEFINED"
    if "profile_picture_handle" in given:
        changes["profile_picture_url"] = _picture(request, given["profile_picture_handle"])
    profile = number.kept.get(NAME, {}) | changes
    request.app[NETWORK].record_value(number, NAME, profile)
    return web.json_response({"success": True})


def _picture(request: web.Request, handle: object) -> str:
    kind = uploads.type_of(request, handle)
    if kind is None or not kind.startswith("image/"):
        raise graph_errors.parameter(
            "Param profile_picture_handle is not the handle of an uploaded image."
        )
    return f"https://pps.whatsapp.net/v/sandbox/{sha256(str(handle).encode()).hexdigest()[:32]}.jpg"

"""Codes that open a chat with a text in it (Cloud API, QR codes)."""

from __future__ import annotations

import secrets
from typing import Any

from aiohttp import web

from sandbox import auth, clock, graph_errors
from sandbox.bodies import graph_body
from sandbox.contents.validators import text
from sandbox.entities import Number
from sandbox.keys import NETWORK
from sandbox.nodes import pick
from sandbox.paging import page

NAME = "message_qrdls"
FORMATS = ("PNG", "SVG")
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
DEFAULTS = ("code", "prefilled_message", "deep_link_url")
TEXT = text(140, refusal=graph_errors.parameter)


async def write(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/message_qrdls[/{code}]``: a new code, or another text of a code."""
    number = auth.own_number(request)
    given = await graph_body(request)
    TEXT("prefilled_message", given.get("prefilled_message"))
    code = request.match_info.get("code") or given.get("code")
    image = given.get("generate_qr_image")
    if image is not None and str(image).upper() not in FORMATS:
        raise graph_errors.parameter("Param generate_qr_image must be one of {PNG, SVG}")
    if code is None:
        code, made_at = "".join(secrets.choice(ALPHABET) for _ in range(14)), clock.now()
    else:
        made_at = _known(request, number, str(code))["made_at"]
    said = {"text": given["prefilled_message"], "made_at": made_at}
    request.app[NETWORK].record_value(number, NAME, _codes(number) | {str(code): said})
    answer = _view(number, str(code))
    del answer["creation_time"], answer["id"]
    if image is None:
        del answer["qr_image_url"]
    return web.json_response(answer)


async def show_all(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/message_qrdls``, with ``fields`` and ``code``."""
    number = auth.own_number(request)
    only = request.query.get("code")
    codes = [each for each in _codes(number) if only is None or each == only]
    return web.json_response(page(request, [_picked(request, number, each) for each in codes]))


async def show(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/message_qrdls/{code}``: a list of this one."""
    number, code = auth.own_number(request), request.match_info["code"]
    _known(request, number, code)
    return web.json_response({"data": [_picked(request, number, code)]})


async def delete(request: web.Request) -> web.Response:
    """``DELETE {phone_number_id}/message_qrdls/{code}``."""
    number, code = auth.own_number(request), request.match_info["code"]
    _known(request, number, code)
    request.app[NETWORK].record_value(
        number, NAME, {name: said for name, said in _codes(number).items() if name != code}
    )
    return web.json_response({"success": True})


def _codes(number: Number) -> dict[str, Any]:
    codes: dict[str, Any] = number.kept.get(NAME, {})
    return codes


def _known(request: web.Request, number: Number, code: str) -> dict[str, Any]:
    if code not in _codes(number):
        raise graph_errors.no_such_object(request.method, code)
    said: dict[str, Any] = _codes(number)[code]
    return said


def _picked(request: web.Request, number: Number, code: str) -> dict[str, Any]:
    shown = pick(_view(number, code), request.query.get("fields"), DEFAULTS, "WhatsAppMessageQRDL")
    del shown["id"]
    return shown


def _view(number: Number, code: str) -> dict[str, Any]:
    said = _codes(number)[code]
    return {
        "id": code,
        "code": code,
        "prefilled_message": said["text"],
        "deep_link_url": f"https://wa.me/message/{code}",
        # A placeholder URL: the sandbox draws no codes.
        "qr_image_url": f"https://scontent.xx.fbcdn.net/sandbox/{code}",
        "creation_time": int(said["made_at"]),
    }

"""The pop-up of embedded signup: ``/{version}/dialog/oauth`` (Cloud API, Embedded signup).

Its steps run in the browser. Only the last step calls the network, for the number and the code.
"""

from __future__ import annotations

import html
import secrets
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from sandbox import signup
from sandbox.bodies import json_object
from sandbox.control_api import PREFIX, ControlError
from sandbox.entities import Number, Waba
from sandbox.keys import NETWORK, SETTINGS
from sandbox.numbering import display

TEMPLATES = Path(__file__).parent / "templates"
PAGE = Template((TEMPLATES / "dialog.html").read_text(encoding="utf-8"))
REFUSAL = Template((TEMPLATES / "dialog_refused.html").read_text(encoding="utf-8"))
SCRIPT = (TEMPLATES / "dialog.js").read_text(encoding="utf-8")


def add_routes(app: web.Application) -> None:
    """Register the pop-up, with a version prefix and without, and what its last step calls."""
    for prefix in (r"/{version:v\d+\.\d+}", ""):
        app.add_routes([web.get(f"{prefix}/dialog/oauth", show)])
    app.add_routes([web.post(f"{PREFIX}/dialog", grant)])


async def show(request: web.Request) -> web.Response:
    """The pop-up, or the reason why the platform refuses to open it."""
    query, network = request.query, request.app[NETWORK]
    reason = _why_refused(request)
    if reason is not None:
        return _page(REFUSAL, {"reason": html.escape(reason)}, status=400)
    values = {
        "client": html.escape(query["client_id"]),
        "config": html.escape(query["config_id"]),
        "origin": html.escape(query["origin"]),
        "state": html.escape(query.get("state", "")),
        "free": html.escape(display(signup.free_number(network))),
        "wabas": "".join(map(_waba, network.wabas.values())),
        "numbers": "".join(map(_number, network.numbers.values())),
        "script": SCRIPT,
    }
    return _page(PAGE, values)


async def grant(request: web.Request) -> web.Response:
    """The last step: what the pop-up posts to its opener, and the code for the SDK's callback."""
    body = await _body(request)
    only_waba, of_app = body.pop("only_waba", False), body.get("app")
    try:
        done = signup.sign_up(request.app[NETWORK], body)
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    waba = request.app[NETWORK].wabas[done["waba_id"]]
    data = {"waba_id": waba.id, "business_id": waba.business_id}
    if of_app:
        event, data = "FINISH_WHATSAPP_BUSINESS_APP_ONBOARDING", {"waba_id": waba.id}
    elif only_waba:
        event = "FINISH_ONLY_WABA"
    else:
        event, data = "FINISH", {"phone_number_id": done["phone_number_id"], **data}
    return web.json_response({"event": event, "data": data, "code": done["code"]})


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = await json_object(request)
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    reason = _unknown_app(request, body.pop("client_id", ""), body.pop("config_id", ""))
    if reason is not None:
        raise ControlError(400, reason)
    return body


def _why_refused(request: web.Request) -> str | None:
    query = request.query
    if query.get("response_type") != "code":
        return "response_type must be code"
    if not _is_origin(query.get("origin", "")):
        return "origin must be the origin of the page that opens this window"
    return _unknown_app(request, query.get("client_id", ""), query.get("config_id", ""))


def _is_origin(text: str) -> bool:
    try:
        origin = urlsplit(text)
    except ValueError:
        return False
    return origin.scheme in {"http", "https"} and bool(origin.netloc)


def _unknown_app(request: web.Request, client_id: object, config_id: object) -> str | None:
    settings = request.app[SETTINGS]
    if client_id != settings.app_id:
        return "Invalid App ID: the provided app ID does not look like a valid app ID."
    if config_id != settings.config_id:
        return "Invalid config_id: this app has no such configuration of Facebook Login."
    return None


def _page(template: Template, values: dict[str, str], *, status: int = 200) -> web.Response:
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return web.Response(
        body=template.substitute(values, nonce=nonce).encode(errors="replace"),
        status=status,
        content_type="text/html",
        charset="utf-8",
        headers={"Content-Security-Policy": policy, "Cache-Control": "no-store"},
    )


def _waba(waba: Waba) -> str:
    return _choice("business", waba.id, waba.name, f"Account {waba.id}")


def _number(number: Number) -> str:
    two_step = "two-step verification is on" if number.pin is not None else number.status
    label = f"{display(number.digits)} {number.verified_name}"
    return _choice("phone_choice", number.digits, label, two_step, waba_id=number.waba_id)


def _choice(name: str, value: str, label: str, note: str, *, waba_id: str = "") -> str:
    owner = f' data-waba="{html.escape(waba_id)}"' if waba_id else ""
    return (
        f'<label class="choice"{owner}><input type="radio" name="{name}" value="{html.escape(value)}">'
        f"<span>{html.escape(label)}<small>{html.escape(note)}</small></span></label>"
    )

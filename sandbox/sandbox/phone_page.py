"""``/``: phones for people. Read what was sent to a person, answer as that person."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

from aiohttp import web

from sandbox import conversations
from sandbox.control_api import PREFIX, ControlError, number_view
from sandbox.conversations import MOST_SHOWN, SHOWN
from sandbox.entities import Number
from sandbox.keys import NETWORK
from sandbox.network import Network
from sandbox.numbering import display
from sandbox.people import named
from sandbox.views import render

MOST_PHONES = 3
STATIC = Path(__file__).parent / "static" / "phone"


def add_routes(app: web.Application) -> None:
    """Register the page, its files, and the endpoint it polls."""
    app.add_routes(
        [
            web.get("/", show),
            web.get(f"{PREFIX}/conversation", get_conversation),
            web.get(f"{PREFIX}/static/phone/{{name}}", get_file),
        ]
    )


async def show(request: web.Request) -> web.Response:
    """The page. It is readable without its script, which polls for updates and sends messages."""
    network, query = request.app[NETWORK], request.query
    number_id = query.get("number") or next(reversed(network.numbers), "")
    nonce = secrets.token_urlsafe(16)
    text = render.page(
        nonce=nonce,
        number_id=number_id,
        numbers=_numbers(network),
        people=conversations.people(network, number_id),
        phones=[_phone(network, number_id, each) for each in _chosen(request, number_id)],
        most_phones=MOST_PHONES,
    )
    return page_of(text, nonce)


def page_of(text: str, nonce: str) -> web.Response:
    """The response with a page whose styles and scripts have this nonce."""
    # Everything on the page comes from itself: what people write can never become a script, nor
    # make the browser ask anybody else.
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}';"
        " connect-src 'self'; img-src 'self'; media-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return web.Response(
        # A lone surrogate in what somebody wrote has no UTF-8.
        body=text.encode(errors="replace"),
        content_type="text/html",
        charset="utf-8",
        headers={"Content-Security-Policy": policy},
    )


async def get_conversation(request: web.Request) -> web.Response:
    """What the page polls: a conversation with its ticks, the people, and the numbers.

    Answers 204 if ``version`` is current. ``shown`` is the number of messages to return, counted from the
    newest.
    """
    network, query = request.app[NETWORK], request.query
    number_id, person = query.get("number", ""), named(query.get("person", "")) or ""
    if number_id not in network.numbers:
        raise ControlError(400, "number must be a phone_number_id of this sandbox")
    shown = _shown(query.get("shown", ""))
    version = conversations.version(network, number_id, person, shown)
    if query.get("version") == version:
        return web.Response(status=204)
    entries, more = conversations.read(network, number_id, person, shown)
    return web.json_response(
        {
            "version": version,
            "data": [_bubble(each) for each in entries],
            "more": more and shown < MOST_SHOWN,
            "people": conversations.people(network, number_id),
            "numbers": _numbers(network),
        }
    )


async def get_file(request: web.Request) -> web.StreamResponse:
    """A script or the style of the page."""
    names = {each.name: each for each in STATIC.iterdir()}
    if request.match_info["name"] not in names:
        raise ControlError(404, "there is no such file")
    # A browser that kept the files of an older sandbox would mix them with a newer page.
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return web.FileResponse(names[request.match_info["name"]], headers=headers)


def _chosen(request: web.Request, number_id: str) -> list[str]:
    """The people whose phones are shown, at least one."""
    people = [named(each) or "" for each in request.query.getall("person", [])][:MOST_PHONES]
    if len(people) < 2:  # noqa: PLR2004 - a phone without a person is allowed only next to other phones
        people = list(filter(None, people))
    return people or [conversations.latest_person(request.app[NETWORK], number_id)]


def _phone(network: Network, number_id: str, person: str) -> dict[str, Any]:
    entries, more = conversations.read(network, number_id, person)
    return {"person": person, "entries": entries, "more": more}


def _bubble(entry: conversations.Entry) -> dict[str, Any]:
    shown = {"id": entry.id, "direction": entry.direction, "type": entry.type}
    state = {"text": entry.summary, "status": entry.status, "ticks": entry.ticks}
    drawn = {"day": render.separator(entry), "html": render.bubble(entry)}
    return {**shown, **state, "reason": entry.reason, **drawn}


def _numbers(network: Network) -> list[dict[str, Any]]:
    return [{**number_view(each), "label": _label(each)} for each in network.numbers.values()]


def _label(number: Number) -> str:
    return f"{display(number.digits)} {number.verified_name} ({number.status.lower()})"


def _shown(text: str) -> int:
    wanted = int(text) if re.fullmatch(r"[0-9]{1,6}", text) else SHOWN
    return min(max(wanted, 1), MOST_SHOWN)

"""``/``: a phone for people. Read what was sent to a person, answer as that person."""

from __future__ import annotations

import html
import secrets
from pathlib import Path
from string import Template
from typing import Any

from aiohttp import web

from sandbox import conversations
from sandbox.control import PREFIX, ControlError, number_view
from sandbox.entities import Number
from sandbox.keys import NETWORK
from sandbox.numbering import digits_of, display

TEMPLATE = Template(
    (Path(__file__).parent / "templates" / "phone.html").read_text(encoding="utf-8")
)


def add_routes(app: web.Application) -> None:
    """Register the page and the endpoint it polls."""
    app.add_routes([web.get("/", show), web.get(f"{PREFIX}/conversation", get_conversation)])


async def show(request: web.Request) -> web.Response:
    """The page, readable as it comes; its script only keeps it fresh and sends."""
    network, query = request.app[NETWORK], request.query
    number_id = query.get("number") or next(reversed(network.numbers), "")
    person = digits_of(query.get("person", "")) or conversations.latest_person(network, number_id)
    nonce = secrets.token_urlsafe(16)
    text = TEMPLATE.substitute(
        nonce=nonce,
        numbers="".join(_number(each, number_id) for each in network.numbers.values()),
        people="".join(_person(each) for each in conversations.people(network, number_id)),
        person=html.escape(person),
        messages="".join(map(_bubble, conversations.read(network, number_id, person))),
    )
    # Everything on the page comes from itself: what people write can never become a script.
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    return web.Response(
        # A lone surrogate in what somebody wrote has no UTF-8.
        body=text.encode(errors="replace"),
        content_type="text/html",
        charset="utf-8",
        headers={"Content-Security-Policy": policy},
    )


async def get_conversation(request: web.Request) -> web.Response:
    """What the page polls: a conversation with its ticks, the people, and the numbers."""
    network, number_id = request.app[NETWORK], request.query.get("number", "")
    if number_id not in network.numbers:
        raise ControlError(400, "number must be a phone_number_id of this sandbox")
    person = digits_of(request.query.get("person", ""))
    return web.json_response(
        {
            "data": conversations.read(network, number_id, person) if person else [],
            "people": conversations.people(network, number_id),
            "numbers": [
                {**number_view(number), "label": _label(number)}
                for number in network.numbers.values()
            ],
        }
    )


def _number(number: Number, chosen: str) -> str:
    selected = " selected" if number.id == chosen else ""
    return (
        f'<option value="{html.escape(number.id)}"{selected}>{html.escape(_label(number))}</option>'
    )


def _label(number: Number) -> str:
    return f"{display(number.digits)} {number.verified_name} ({number.status})"


def _person(digits: str) -> str:
    return f'<option value="{html.escape(digits)}">'


def _bubble(entry: dict[str, Any]) -> str:
    text, status = html.escape(entry["text"]), html.escape(entry["status"])
    foot = f'{entry["time"]} <span class="ticks {status}" title="{status}">{entry["ticks"]}</span>'
    return f'<li class="{entry["direction"]}"><p>{text}</p><small>{foot}</small></li>'

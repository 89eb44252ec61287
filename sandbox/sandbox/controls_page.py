"""``/controls``: the control paths as forms for people: clock, numbers, templates, behaviour.

People write at ``/``, with their phones (sandbox.phone_page).
"""

from __future__ import annotations

import secrets
from dataclasses import fields
from typing import Any

from aiohttp import web

from sandbox import clock
from sandbox.behaviour import Behaviour
from sandbox.control_api import number_view
from sandbox.entities import BANNED, CONNECTED, DISCONNECTED
from sandbox.keys import NETWORK
from sandbox.knob_words import GROUPS
from sandbox.knobs import CHOICES
from sandbox.messaging_limits import TIERS
from sandbox.phone_page import page_of
from sandbox.templates_control import SCORES, STATUSES
from sandbox.views import render

# By which the clock is moved, in seconds.
STEPS = {"1 hour": 3600, "24 hours": 86_400, "7 days": 604_800, "30 days": 2_592_000}


def add_routes(app: web.Application) -> None:
    """Register the page."""
    app.add_routes([web.get("/controls", show)])


async def show(request: web.Request) -> web.Response:
    """The page. Its script posts each form to the control path that the form names."""
    network, nonce = request.app[NETWORK], secrets.token_urlsafe(16)
    text = render.controls(
        nonce=nonce,
        now=clock.iso(clock.now()),
        ahead=round(clock.CLOCK.ahead),
        steps=STEPS,
        numbers=[number_view(each) for each in network.numbers.values()],
        tiers=TIERS,
        number_statuses=(CONNECTED, DISCONNECTED, BANNED),
        templates=list(network.templates.values()),
        template_statuses=STATUSES,
        scores=SCORES,
        knobs=_knobs(network.behaviour),
        groups=GROUPS,
    )
    return page_of(text, nonce)


def _knobs(behaviour: Behaviour) -> list[dict[str, Any]]:
    """Each knob with its value, its default, and the words that it may be."""
    return [
        {
            "name": each.name,
            "value": getattr(behaviour, each.name),
            "default": each.default,
            "is_switch": isinstance(each.default, bool),
            "choices": each.metadata.get(CHOICES, ()),
        }
        for each in fields(behaviour)
    ]

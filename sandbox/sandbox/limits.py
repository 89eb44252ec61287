"""``/_sandbox/numbers/{id}/limits``: the platform changes a number's limits."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import events
from sandbox.control_api import PREFIX, ControlError, control_body, number_of, number_view
from sandbox.entities import Number
from sandbox.keys import DISPATCHER, NETWORK, SETTINGS
from sandbox.messaging_limits import is_tier, people_of

MESSAGING = "messaging_limit"


def add_routes(app: web.Application) -> None:
    """Register the path."""
    app.add_routes([web.post(f"{PREFIX}/numbers/{{phone_number_id}}/limits", change)])


async def change(request: web.Request) -> web.Response:
    """Set the ``messaging_limit`` of a number, and send the callback. Responds with the number."""
    number, body = number_of(request), await control_body(request)
    _check(body)
    if body.get(MESSAGING, number.limit) != number.limit:
        _announce(request, number, _new_limit(number, body[MESSAGING]))
    return web.json_response(number_view(number))


def _check(body: dict[str, Any]) -> None:
    unknown = sorted(set(body) - {MESSAGING})
    if unknown:
        raise ControlError(400, f"unknown property {unknown[0]}")
    if MESSAGING in body and not is_tier(body[MESSAGING]):
        raise ControlError(400, f"{MESSAGING} must be a tier such as TIER_2K or TIER_UNLIMITED")


def _announce(request: web.Request, number: Number, value: dict[str, Any]) -> None:
    """Record and send a callback about the number, with its effects."""
    network, app_id = request.app[NETWORK], request.app[SETTINGS].app_id
    body = {"field": events.QUALITY, "value": value}
    key = events.announce(network, network.wabas[number.waba_id], body, app_id, number)
    request.app[DISPATCHER].announce(network.owed[key])


def _new_limit(number: Number, tier: str) -> dict[str, Any]:
    """The value of the callback (Cloud API, Webhooks: phone_number_quality_update)."""
    is_higher = people_of(tier) > people_of(number.limit)
    event = "UPGRADE" if is_higher else "DOWNGRADE"
    return {"event": event, "old_limit": number.limit, "current_limit": tier}

"""``/_sandbox/numbers/{id}/limits``: the platform changes a number's limits."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import events
from sandbox.behaviour import MAX_THROUGHPUT
from sandbox.control_api import PREFIX, ControlError, control_body, number_of, number_view
from sandbox.entities import Number
from sandbox.keys import DISPATCHER, NETWORK, SETTINGS
from sandbox.knobs import Check, optional, whole
from sandbox.messaging_limits import people_of, tier
from sandbox.meters import HIGH, level_of

MESSAGING, THROUGHPUT = "messaging_limit", "throughput_per_second"
CHECKS: dict[str, Check] = {MESSAGING: tier, THROUGHPUT: optional(whole(0, MAX_THROUGHPUT))}


def add_routes(app: web.Application) -> None:
    """Register the path."""
    app.add_routes([web.post(f"{PREFIX}/numbers/{{phone_number_id}}/limits", change)])


async def change(request: web.Request) -> web.Response:
    """Set limits of a number, and send the callbacks. Responds with the number.

    ``messaging_limit`` is a tier, ``throughput_per_second`` its own throughput, null for that of the knob.
    """
    number, body = number_of(request), await control_body(request)
    _check(body)
    if THROUGHPUT in body:
        _set_throughput(request, number, body[THROUGHPUT])
    if body.get(MESSAGING, number.limit) != number.limit:
        _announce(request, number, _new_limit(number, body[MESSAGING]))
    return web.json_response(number_view(number))


def _check(body: dict[str, Any]) -> None:
    for name, value in body.items():
        if name not in CHECKS:
            raise ControlError(400, f"{name} is no limit; there are {', '.join(CHECKS)}")
        try:
            CHECKS[name](value)
        except ValueError as error:
            raise ControlError(400, f"{name} {error}") from error


def _set_throughput(request: web.Request, number: Number, rate: int | None) -> None:
    """Set a number's own throughput. Only a higher level has a callback."""
    network = request.app[NETWORK]
    before = level_of(number, network.behaviour)
    network.record({"fact": "number_changed", "number_id": number.id, "throughput": rate})
    if before != level_of(number, network.behaviour) == HIGH:
        same = {"max_daily_conversations_per_business": number.limit}
        _announce(request, number, {"event": "THROUGHPUT_UPGRADE", **same})


def _new_limit(number: Number, limit: str) -> dict[str, Any]:
    """The value of the callback (Cloud API, Webhooks: phone_number_quality_update)."""
    is_higher = people_of(limit) > people_of(number.limit)
    event = "UPGRADE" if is_higher else "DOWNGRADE"
    return {"event": event, "old_limit": number.limit, "current_limit": limit}


def _announce(request: web.Request, number: Number, value: dict[str, Any]) -> None:
    """Record and send a callback about the number, with its effects."""
    network, app_id = request.app[NETWORK], request.app[SETTINGS].app_id
    body = {"field": events.QUALITY, "value": value}
    key = events.announce(network, network.wabas[number.waba_id], body, app_id, number)
    request.app[DISPATCHER].announce(network.owed[key])

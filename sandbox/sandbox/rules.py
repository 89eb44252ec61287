"""``/_sandbox/*`` for the platform's rules: time, tokens, account events, callbacks' attempts."""

from __future__ import annotations

import math
from typing import Any

from aiohttp import web

from sandbox import clock, events
from sandbox.callback_log import KEPT_CALLBACKS
from sandbox.control_api import PREFIX, ControlError, control_body
from sandbox.entities import Waba
from sandbox.keys import DISPATCHER, NETWORK, OUTBOX, SETTINGS, TIMETABLE

# Longer than any rule of the platform takes. The limit guards against typing errors, which cannot be undone.
MOST_AHEAD = 366 * 24 * 3600


def add_routes(app: web.Application) -> None:
    """Register the paths."""
    app.add_routes(
        [
            web.get(f"{PREFIX}/clock", get_clock),
            web.post(f"{PREFIX}/clock", advance_clock),
            web.get(f"{PREFIX}/callbacks", list_callbacks),
            web.post(f"{PREFIX}/wabas/{{waba_id}}/events", announce),
            web.post(f"{PREFIX}/numbers/{{phone_number_id}}/events", announce),
            web.post(f"{PREFIX}/wabas/{{waba_id}}/tokens", end_tokens),
            web.post(f"{PREFIX}/numbers/{{phone_number_id}}/tokens", end_tokens),
        ]
    )


async def get_clock(_: web.Request) -> web.Response:
    """The network's time, and how far it is ahead of the machine's."""
    now = clock.now()
    return web.json_response(
        {"now": clock.iso(now), "unix_seconds": now, "ahead_seconds": clock.CLOCK.ahead}
    )


async def advance_clock(request: web.Request) -> web.Response:
    """Move the time ahead by ``advance_seconds``, and start all calls that became due."""
    body = await control_body(request)
    seconds = body.get("advance_seconds")
    number = math.nan if isinstance(seconds, bool) else seconds
    if set(body) != {"advance_seconds"} or not isinstance(number, (int, float)):
        raise ControlError(400, "advance_seconds must be a number of seconds, and nothing else")
    if not 0 <= number <= MOST_AHEAD:
        raise ControlError(400, f"advance_seconds must be 0 to {MOST_AHEAD}")
    request.app[NETWORK].record({"fact": "clock", "ahead": clock.CLOCK.ahead + number})
    request.app[TIMETABLE].catch_up()
    return await get_clock(request)


async def list_callbacks(request: web.Request) -> web.Response:
    """The last callbacks of this process, oldest first, each with its attempts."""
    text = request.query.get("limit", "100")
    limit = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= limit <= KEPT_CALLBACKS:
        raise ControlError(400, f"limit must be 1 to {KEPT_CALLBACKS}")
    records = request.app[OUTBOX].log.last(limit)
    return web.json_response({"data": [record.as_dict() for record in records]})


async def announce(request: web.Request) -> web.Response:
    """Record an event of an account or one of its numbers, and send its callback."""
    waba, network = _waba(request), request.app[NETWORK]
    number = network.numbers.get(request.match_info.get("phone_number_id", ""))
    app_id = request.app[SETTINGS].app_id
    try:
        key = events.announce(network, waba, await control_body(request), app_id, number)
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    update: Any = network.owed[key]
    request.app[DISPATCHER].announce(update)
    return web.json_response({"field": update.webhook_field, "value": update.value})


async def end_tokens(request: web.Request) -> web.Response:
    """All business tokens of an account, given by its id or a number's, expire or are revoked."""
    waba, network, body = _waba(request), request.app[NETWORK], await control_body(request)
    if body == {"status": "EXPIRED"}:
        network.record({"fact": "tokens_expired", "waba_id": waba.id, "at": clock.now()})
    elif body == {"status": "REVOKED"}:
        network.record({"fact": "tokens_revoked", "waba_id": waba.id})
    else:
        raise ControlError(400, "status must be EXPIRED or REVOKED")
    return web.json_response({"waba_id": waba.id, **body})


def _waba(request: web.Request) -> Waba:
    network, ids = request.app[NETWORK], request.match_info
    if "phone_number_id" in ids:
        number = network.numbers.get(ids["phone_number_id"])
        waba = None if number is None else network.wabas[number.waba_id]
    else:
        waba = network.wabas.get(ids["waba_id"])
    if waba is None:
        raise ControlError(404, "there is nothing with this id")
    return waba

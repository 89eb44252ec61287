"""``POST /_sandbox/callbacks/{id}/replay``: send a recorded callback again, as it was or with another age."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from sandbox import clock
from sandbox.control_api import PREFIX, ControlError, control_body
from sandbox.keys import OUTBOX
from sandbox.signing import encode

# The members that hold a time, and the longest age in seconds.
TIMES, MOST_AGE = {"timestamp", "time"}, 366 * 24 * 3600


def add_routes(app: web.Application) -> None:
    """Register the path."""
    app.add_routes([web.post(f"{PREFIX}/callbacks/{{callback_id}}/replay", replay)])


async def replay(request: web.Request) -> web.Response:
    """Send a callback again. With ``age_seconds`` all its times are that long ago."""
    outbox, callback_id = request.app[OUTBOX], request.match_info["callback_id"]
    known = outbox.log.find(callback_id)
    if known is None:
        raise ControlError(404, "there is no callback with this id, or it was too large to be kept")
    age = await _age(request)
    body = known.body if age is None else encode(_aged(json.loads(known.body), age))
    record = outbox.log.open(known.url, known.updates, body)
    record.finish(await outbox.client.attempt(known.url, body))
    return web.json_response(record.as_dict())


async def _age(request: web.Request) -> int | None:
    """The chosen age in seconds, None for the callback as it was. Raises ControlError."""
    body = await control_body(request)
    age = body.get("age_seconds")
    is_age = isinstance(age, int) and not isinstance(age, bool) and 0 <= age <= MOST_AGE
    if set(body) - {"age_seconds"} or not (age is None or is_age):
        raise ControlError(400, f"age_seconds must be 0 to {MOST_AGE}, and nothing else")
    return age


def _aged(value: Any, age: int) -> Any:
    """The value with all times this many seconds ago, as texts and numbers like before."""
    if isinstance(value, list):
        return [_aged(each, age) for each in value]
    if not isinstance(value, dict):
        return value
    at = int(clock.now()) - age
    return {
        name: type(each)(at) if name in TIMES and isinstance(each, str | int) else _aged(each, age)
        for name, each in value.items()
    }

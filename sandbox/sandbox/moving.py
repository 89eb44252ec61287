"""Moves of a phone number: to another account, or out of its account and in again. Each gives it a new id."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox.control_api import PREFIX, ControlError, control_body
from sandbox.entities import DELETED, MIGRATED, Number
from sandbox.journal import Fact
from sandbox.keys import NETWORK
from sandbox.network import Network
from sandbox.numbering import new_object_id


def add_routes(app: web.Application) -> None:
    """Register the control path."""
    app.add_routes([web.post(f"{PREFIX}/numbers/{{phone_number_id}}/move", move)])


async def move(request: web.Request) -> web.Response:
    """Move a number into the account ``waba_id``, its own one or by default a new one.

    The former id is DELETED if the account is the same, otherwise MIGRATED. The number must sign up again.
    """
    network, body = request.app[NETWORK], await control_body(request)
    number = network.numbers.get(request.match_info["phone_number_id"])
    if number is None or network.numbers_by_digits[number.digits] is not number:
        raise ControlError(404, "there is no number with this phone_number_id")
    waba_id = body.get("waba_id")
    if set(body) - {"waba_id"} or waba_id not in (None, *network.wabas):
        raise ControlError(400, "waba_id must be that of an account that exists")
    moved = _facts(network, number, waba_id)
    network.record(*moved)
    new = network.numbers_by_digits[number.digits]
    return web.json_response({"phone_number_id": new.id, "waba_id": new.waba_id})


def _facts(network: Network, number: Number, waba_id: str | None) -> list[Fact]:
    facts: list[Fact] = []
    if waba_id is None:
        name = network.wabas[number.waba_id].name
        waba_id = new_object_id()
        facts.append({"fact": "waba", "id": waba_id, "business_id": new_object_id(), "name": name})
    status = DELETED if waba_id == number.waba_id else MIGRATED
    new: dict[str, Any] = {"id": new_object_id(), "waba_id": waba_id, "digits": number.digits}
    new |= {"verified_name": number.verified_name, "pin": number.pin}
    return [
        *facts,
        {"fact": "status", "number_id": number.id, "status": status},
        {"fact": "number", **new},
    ]

"""``POST {phone_number_id}/messages``: send a message, or mark one as read."""

from __future__ import annotations

import asyncio
import random
from itertools import permutations
from typing import Any

from aiohttp import web

from sandbox import auth, clock, errors, orders
from sandbox.bodies import graph_body, require_product
from sandbox.entities import BANNED, CONNECTED, Message, Number
from sandbox.fates import Answer, fate_of
from sandbox.keys import DISPATCHER, NETWORK
from sandbox.numbering import new_wamid
from sandbox.state import Network


async def post_message(request: web.Request) -> web.Response:
    """Accept or refuse, record, and answer as the recipient's fate has it.

    What is answered with 200 has been recorded; so have the ambiguous fates.
    """
    number, network = auth.own_number(request), request.app[NETWORK]
    payload = await graph_body(request)
    require_product(payload)
    if "status" in payload:
        return _mark_read(network, number, payload)
    order = orders.check(payload, number)
    _require_able(network, number, order)
    message = _accept(network, number, order)
    request.app[DISPATCHER].follow(message)
    if network.behaviour.latency_ms:
        await asyncio.sleep(network.behaviour.latency_ms / 1000)
    return _answer(request, message, order)


def _require_able(network: Network, number: Number, order: orders.Order) -> None:
    if number.status == BANNED:
        raise errors.known(131031)
    if number.status != CONNECTED:
        raise errors.known(133010)
    if random.random() < network.behaviour.error_rate:  # noqa: S311 - not a secret
        raise errors.overloaded()
    refusal = fate_of(order.to).refusal
    if refusal is not None:
        raise errors.known(refusal)


def _accept(network: Network, number: Number, order: orders.Order) -> Message:
    wamid = new_wamid(order.to)
    network.record(
        {
            "fact": "message",
            "id": wamid,
            "number_id": number.id,
            "to": order.to,
            "type": order.type,
            "content": order.content,
            "accepted_at": clock.now(),
            "delay": network.behaviour.status_delay_ms / 1000,
            "steps": _steps(fate_of(order.to).statuses, reorder=network.behaviour.reorder),
            "extras": order.extras,
        }
    )
    return network.messages[wamid]


def _steps(statuses: tuple[str, ...], *, reorder: bool) -> list[str]:
    if not reorder or len(statuses) < 2:  # noqa: PLR2004 - one has no order
        return list(statuses)
    mixed = [each for each in permutations(statuses) if each != statuses]
    return list(random.choice(mixed))  # noqa: S311 - not a secret


def _answer(request: web.Request, message: Message, order: orders.Order) -> web.Response:
    answer = message.fate.answer
    if answer is Answer.SERVER_ERROR:
        raise errors.known(131000)
    if answer is Answer.HANG_UP and request.transport is not None:
        # The response below is then written nowhere: the client sees the connection end without a
        # byte.
        request.transport.abort()
    return web.json_response(
        {
            "messaging_product": "whatsapp",
            "contacts": [{"input": order.given_to, "wa_id": order.to}],
            "messages": [{"id": message.id}],
        }
    )


def _mark_read(network: Network, number: Number, payload: dict[str, Any]) -> web.Response:
    if payload["status"] != "read":
        raise errors.parameter("Param status must be one of {READ}")
    message_id = payload.get("message_id")
    if message_id is None:
        raise errors.parameter("The parameter message_id is required.")
    inbound = network.inbound.get(message_id) if isinstance(message_id, str) else None
    if inbound is None or inbound.number_id != number.id:
        raise errors.known(
            131009, "Parameter 'message_id' is not the id of a message to this number."
        )
    if not inbound.read:
        network.record({"fact": "read", "id": inbound.id})
    return web.json_response({"success": True})

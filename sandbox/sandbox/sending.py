"""``POST {phone_number_id}/messages``: send a message, or mark one as read."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from aiohttp import web

from sandbox import admission, auth, clock, graph_errors, messaging_limits, orders, prices, wear
from sandbox.bodies import graph_body, require_product
from sandbox.contents.validators import fields, word
from sandbox.entities import Message, Number
from sandbox.fates import DELIVERED, Answer
from sandbox.journal import Fact
from sandbox.keys import DISPATCHER, NETWORK
from sandbox.message_plan import Outcome, decide
from sandbox.network import Network
from sandbox.numbering import new_wamid
from sandbox.people import Person

# Shown to the person until the answer, 25 s at most. The sandbox's people see nothing.
TYPING = fields({"type": word("text")})
# Seconds for which the answer to a send waits for its statuses to be delivered.
LONGEST_WAIT = 5.0


async def post_message(request: web.Request) -> web.Response:
    """Accept or refuse the message, record it, and respond as its recipient's fate determines.

    Every send with a 200 response is recorded, and so is every ambiguous one.
    """
    number, network = auth.own_number(request), request.app[NETWORK]
    payload = await graph_body(request)
    require_product(payload)
    if "status" in payload:
        return _mark_read(network, number, payload)
    order = orders.check(payload, number)
    network.sends_asked += 1
    person = network.people.find(order.to)
    barred = admission.check(network, number, order, person)
    outcome = decide(network, person.key, barred=barred)
    effects = wear.facts(network, number, order)
    message = _accept(network, number, order, outcome, person, effects)
    request.app[DISPATCHER].emit_statuses(message)
    request.app[DISPATCHER].announce_recorded(effects)
    await _wait(request, message, outcome)
    return _answer(request, message, order, outcome, person)


def _accept(
    network: Network,
    number: Number,
    order: orders.Order,
    outcome: Outcome,
    person: Person,
    effects: list[Fact],
) -> Message:
    # An id holds the phone number, as long as the business may know it.
    wamid = new_wamid(person.visible_phone or person.user_id if order.by_user_id else order.to)
    network.record(
        {
            "fact": "message",
            "id": wamid,
            "number_id": number.id,
            "to": order.to if order.to in person.former else person.key,
            "type": order.type,
            "content": order.content,
            "accepted_at": clock.now(),
            "delay": outcome.delay,
            "steps": outcome.steps,
            "extras": order.extras,
            **outcome.exceptions,
            **prices.exceptions(network, number, order, person),
            **messaging_limits.exceptions(network, number, order, person, outcome),
        },
        *effects,
    )
    network.sends_accepted += 1
    return network.messages[wamid]


async def _wait(request: web.Request, message: Message, outcome: Outcome) -> None:
    """Delay the response. The delays are in the machine's time, not the network's."""
    if outcome.latency:
        await asyncio.sleep(outcome.latency)
    if outcome.after_delivered:
        # An unreachable receiver delays the response, but never prevents it.
        with contextlib.suppress(TimeoutError):
            confirmed = request.app[DISPATCHER].confirmed(message, DELIVERED)
            await asyncio.wait_for(confirmed, LONGEST_WAIT)


def _answer(
    request: web.Request,
    message: Message,
    order: orders.Order,
    outcome: Outcome,
    person: Person,
) -> web.Response:
    if outcome.answer is Answer.SERVER_ERROR:
        raise graph_errors.known(131000)
    if outcome.answer in {Answer.HANG_UP, Answer.SILENCE} and request.transport is not None:
        # The response below is then written nowhere: the client sees the connection end without a
        # byte.
        request.transport.abort()
    shown = {"id": message.id}
    if message.type == "template":
        shown["message_status"] = request.app[NETWORK].behaviour.message_status
    return web.json_response(
        {
            "messaging_product": "whatsapp",
            "contacts": [_contact(order, outcome, person)],
            "messages": [shown],
        }
    )


def _contact(order: orders.Order, outcome: Outcome, person: Person) -> dict[str, str]:
    if order.to_group:
        return {"input": order.given_to, "wa_id": order.to}
    if outcome.nameless or order.by_user_id:
        return {"input": order.given_to, "user_id": person.user_id}
    return {"input": order.given_to, "wa_id": order.to}


def _mark_read(network: Network, number: Number, payload: dict[str, Any]) -> web.Response:
    if payload["status"] != "read":
        raise graph_errors.parameter("Param status must be one of {READ}")
    if "typing_indicator" in payload:
        TYPING("typing_indicator", payload["typing_indicator"])
    message_id = payload.get("message_id")
    if message_id is None:
        raise graph_errors.parameter("The parameter message_id is required.")
    inbound = network.inbound.get(message_id) if isinstance(message_id, str) else None
    if inbound is None or inbound.number_id != number.id:
        raise graph_errors.known(
            131009, "Parameter 'message_id' is not the id of a message to this number."
        )
    if not inbound.read:
        network.record({"fact": "read", "id": inbound.id})
    return web.json_response({"success": True})

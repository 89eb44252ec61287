"""``/_sandbox/*``: the control paths, for tests and people.

Apart from the Graph paths.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aiohttp import web

from sandbox import account_updates, changes, clock, inbound, people, signup
from sandbox.bodies import json_object
from sandbox.entities import Message, Number
from sandbox.keys import DISPATCHER, NETWORK, OUTBOX, SETTINGS

PREFIX = "/_sandbox"


class ControlError(Exception):
    """A control call was refused, and nothing has changed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def body(self) -> dict[str, Any]:
        """The JSON body."""
        return {"error": {"message": str(self)}}


async def control_body(request: web.Request) -> dict[str, Any]:
    """The body of a control call, a JSON object. Raises ControlError."""
    try:
        return await json_object(request)
    except ValueError as error:
        raise ControlError(400, str(error)) from error


def is_control(request: web.Request) -> bool:
    """Whether the request is for a control path, whose errors have their own shape."""
    return request.path.startswith(PREFIX + "/")


def add_routes(app: web.Application) -> None:
    """Register the control paths."""
    app.add_routes(
        [
            web.get(f"{PREFIX}/healthz", get_health),
            web.get(f"{PREFIX}/state", get_state),
            web.get(f"{PREFIX}/messages", list_messages),
            web.get(f"{PREFIX}/behaviour", get_behaviour),
            web.put(f"{PREFIX}/behaviour", change_behaviour),
            web.get(f"{PREFIX}/inbound", list_inbound),
            web.post(f"{PREFIX}/inbound", write_inbound),
            web.get(f"{PREFIX}/people", list_people),
            web.post(f"{PREFIX}/people", change_person),
            web.post(f"{PREFIX}/signup", sign_up),
            web.post(f"{PREFIX}/numbers/{{phone_number_id}}/status", change_status),
        ]
    )


async def get_health(request: web.Request) -> web.Response:
    """The process serves requests."""
    return web.json_response({"status": "ok", "numbers": len(request.app[NETWORK].numbers)})


async def get_state(request: web.Request) -> web.Response:
    """A summary of the network's state.

    ``owed`` is 0 when all updates are delivered and confirmed.
    """
    network, counters = request.app[NETWORK], request.app[OUTBOX].counters
    owed = {"statuses": network.statuses_owed, "other": len(network.owed)}
    return web.json_response(
        {
            "numbers": [number_view(number) for number in network.numbers.values()],
            "wabas": [
                {"id": each.id, "name": each.name, "subscribed": each.subscribed}
                for each in _wabas(request)
            ],
            "messages": len(network.messages),
            "inbound": len(network.inbound),
            "owed": {**owed, "total": sum(owed.values())},
            "sends": {"asked": network.sends_asked, "accepted": network.sends_accepted},
            "callbacks": counters.as_dict(),
            "behaviour": network.behaviour.as_dict(),
        }
    )


async def list_messages(request: web.Request) -> web.Response:
    """Every message ever accepted, in order.

    With ``since`` (an ISO time or Unix seconds) only those from then on.
    """
    since = _since(request.query.get("since"))
    messages = request.app[NETWORK].messages.values()
    return web.json_response(
        {"data": [message_view(each) for each in messages if each.accepted_at >= since]}
    )


async def get_behaviour(request: web.Request) -> web.Response:
    """All knobs."""
    return web.json_response(request.app[NETWORK].behaviour.as_dict())


async def change_behaviour(request: web.Request) -> web.Response:
    """Set the given knobs; the others stay. Returns all knobs."""
    network = request.app[NETWORK]
    try:
        body = await json_object(request)
        behaviour = network.behaviour.changed(body)
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    network.record({"fact": "behaviour", **behaviour.as_dict()})
    if "seed" in body:
        network.chance.seed(behaviour.seed)
    return web.json_response(behaviour.as_dict())


async def list_inbound(request: web.Request) -> web.Response:
    """Every message that a person wrote, in order, and whether the business marked it as read."""
    messages = request.app[NETWORK].inbound.values()
    return web.json_response(
        {
            "data": [
                {
                    "id": each.id,
                    "phone_number_id": each.number_id,
                    "from": each.person,
                    "type": each.item["type"],
                    "read": each.read,
                }
                for each in messages
            ]
        }
    )


async def write_inbound(request: web.Request) -> web.Response:
    """A person writes to a business number."""
    try:
        message = inbound.write(request.app[NETWORK], await json_object(request))
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    request.app[DISPATCHER].announce(message)
    return web.json_response({"id": message.id})


async def list_people(request: web.Request) -> web.Response:
    """All people with recorded data."""
    found = request.app[NETWORK].people.all()
    return web.json_response({"data": [people.view(each) for each in found]})


async def change_person(request: web.Request) -> web.Response:
    """Change a person, and send updates to the numbers that know the person. Responds with the person."""
    network = request.app[NETWORK]
    try:
        person, owed = changes.change(network, await json_object(request))
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    for key in owed:
        request.app[DISPATCHER].announce(network.owed[key])
    return web.json_response(people.view(person))


async def sign_up(request: web.Request) -> web.Response:
    """A customer goes through embedded signup."""
    try:
        return web.json_response(signup.sign_up(request.app[NETWORK], await json_object(request)))
    except ValueError as error:
        raise ControlError(400, str(error)) from error


async def change_status(request: web.Request) -> web.Response:
    """Ban, disconnect or reinstate a number as the platform, and send the callback.

    Answers with the number.
    """
    network, number = request.app[NETWORK], number_of(request)
    try:
        key = account_updates.change_status(
            network, number, await json_object(request), request.app[SETTINGS].app_id
        )
    except ValueError as error:
        raise ControlError(400, str(error)) from error
    if key is not None:
        request.app[DISPATCHER].announce(network.owed[key])
    return web.json_response(number_view(number))


def number_of(request: web.Request) -> Number:
    """The number of the path. Raises ControlError."""
    number = request.app[NETWORK].numbers.get(request.match_info["phone_number_id"])
    if number is None:
        raise ControlError(404, "there is no number with this phone_number_id")
    return number


def number_view(number: Number) -> dict[str, Any]:
    """A number as the control paths show it; the PIN stays out."""
    return {
        "id": number.id,
        "waba_id": number.waba_id,
        "display_phone_number": number.digits,
        "verified_name": number.verified_name,
        "status": number.status,
        "messaging_limit": number.limit,
        "throughput_per_second": number.throughput,
        "quality_rating": number.quality,
    }


def message_view(message: Message) -> dict[str, Any]:
    """An accepted message as the control paths show it."""
    return {
        "id": message.id,
        "phone_number_id": message.number_id,
        "to": message.to,
        "type": message.type,
        message.type: message.content,
        **message.extras,
        **({"by_user_id": True} if message.by_user_id else {}),
        "accepted_at": clock.iso(message.accepted_at),
    }


def _wabas(request: web.Request) -> list[Any]:
    return list(request.app[NETWORK].wabas.values())


def _since(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return (
            float(text)
            if text.replace(".", "", 1).isdigit()
            else datetime.fromisoformat(text).timestamp()
        )
    except ValueError as error:
        raise ControlError(400, "since must be an ISO time or Unix seconds") from error

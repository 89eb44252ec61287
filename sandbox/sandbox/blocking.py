"""The people whom a number has blocked (Cloud API, Block users)."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import auth, graph_errors, prices
from sandbox.bodies import graph_body, require_product
from sandbox.entities import Number
from sandbox.keys import NETWORK
from sandbox.paging import page
from sandbox.people import Person, named

NAME = "block_users"
MOST_IN_REQUEST = 1000
# Only people who wrote within this time (24 hours) can be blocked.
UNKNOWN = 131047


async def show(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/block_users``: the blocked people, a page at a time."""
    blocked = auth.own_number(request).kept.get(NAME, [])
    found = [request.app[NETWORK].people.find(each) for each in blocked]
    people = [
        {"messaging_product": "whatsapp"} | _view(each.visible_phone or each.user_id, each)
        for each in found
    ]
    return web.json_response(page(request, people))


async def block(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/block_users``: block people who wrote in the last 24 hours.

    Responds with HTTP 400 and 139100 if anybody could not be blocked. The others are blocked.
    """
    number, network = auth.own_number(request), request.app[NETWORK]
    blocked: list[str] = list(number.kept.get(NAME, []))
    added, failed = [], []
    for given, person in await _people(request):
        code = _refusal(request, number, person)
        if person is None or code is not None:
            failed.append(_failure(given, person, code or UNKNOWN))
            continue
        added.append(_view(given, person))
        if set(person.names).isdisjoint(blocked):
            blocked.append(person.key)
    network.record_value(number, NAME, blocked)
    answer: dict[str, Any] = {"messaging_product": "whatsapp", NAME: {"added_users": added}}
    if not failed:
        return web.json_response(answer)
    answer[NAME]["failed_users"] = failed
    return web.json_response(answer | graph_errors.known(139100).body(), status=400)


async def unblock(request: web.Request) -> web.Response:
    """``DELETE {phone_number_id}/block_users``: these people may write again."""
    number = auth.own_number(request)
    blocked: list[str] = list(number.kept.get(NAME, []))
    removed = []
    for given, person in await _people(request):
        if person is not None:
            removed.append(_view(given, person))
            blocked = [each for each in blocked if each not in person.names]
    request.app[NETWORK].record_value(number, NAME, blocked)
    return web.json_response({"messaging_product": "whatsapp", NAME: {"removed_users": removed}})


async def _people(request: web.Request) -> list[tuple[str, Person | None]]:
    """Each name in the request with its person, None for an invalid name or an unknown person."""
    payload = await graph_body(request)
    require_product(payload)
    users = payload.get(NAME)
    if not isinstance(users, list) or not users or not all(isinstance(u, dict) for u in users):
        raise graph_errors.parameter("Param block_users must be an array of objects.")
    if len(users) > MOST_IN_REQUEST:
        raise graph_errors.known(130429, f"A request names at most {MOST_IN_REQUEST} users.")
    return [_person(request, user) for user in users]


def _person(request: web.Request, user: dict[str, Any]) -> tuple[str, Person | None]:
    given = user.get("user", user.get("user_id"))
    if not isinstance(given, str) or not given:
        raise graph_errors.parameter("Param block_users must name a user or a user_id each.")
    key = named(given)
    return given, None if key is None else request.app[NETWORK].people.find(key)


def _refusal(request: web.Request, number: Number, person: Person | None) -> int | None:
    if person is None:
        return UNKNOWN
    if person.key == number.digits:
        return 131021
    return None if prices.in_window(request.app[NETWORK], number, person) else UNKNOWN


def _view(given: str, person: Person) -> dict[str, Any]:
    phone = {} if person.visible_phone is None else {"wa_id": person.visible_phone}
    return {"input": given} | phone | {"user_id": person.user_id}


def _failure(given: str, person: Person | None, code: int) -> dict[str, Any]:
    row = graph_errors.TABLE[code]
    error = {"message": row.title, "code": code, "error_data": {"details": row.details}}
    who = {"input": given} if person is None else _view(given, person)
    return who | {"errors": [error]}

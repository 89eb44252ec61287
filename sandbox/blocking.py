"""The people whom a number has blocked (Cloud API, Block users)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiohttp import web

from sandbox import auth, clock, errors
from sandbox.admission import WINDOW
from sandbox.bodies import graph_body, require_product
from sandbox.entities import Number
from sandbox.keys import NETWORK
from sandbox.numbering import digits_of, user_id
from sandbox.paging import page

NAME = "block_users"
MOST_IN_REQUEST = 1000


async def show(request: web.Request) -> web.Response:
    """``GET {phone_number_id}/block_users``: the blocked people, a page at a time."""
    blocked = auth.own_number(request).kept.get(NAME, [])
    people = [
        {"messaging_product": "whatsapp", "input": each, "wa_id": each, "user_id": user_id(each)}
        for each in blocked
    ]
    return web.json_response(page(request, people))


async def block(request: web.Request) -> web.Response:
    """``POST {phone_number_id}/block_users``: who wrote in the last 24 hours, and no others.

    HTTP 400 with 139100 when somebody was not blocked; the others are.
    """
    number, network = auth.own_number(request), request.app[NETWORK]
    blocked: list[str] = list(number.kept.get(NAME, []))
    added, failed = [], []
    for given, person in await _people(request, number):
        code = _refusal(request, number, person)
        if person is None or code is not None:
            failed.append(_failure(given, person, code or 131047))
            continue
        added.append({"input": given, "wa_id": person, "user_id": user_id(person)})
        if person not in blocked:
            blocked.append(person)
    network.record({"fact": "kept", "owner_id": number.id, "name": NAME, "value": blocked})
    answer: dict[str, Any] = {"messaging_product": "whatsapp", NAME: {"added_users": added}}
    if not failed:
        return web.json_response(answer)
    answer[NAME]["failed_users"] = failed
    return web.json_response(answer | errors.known(139100).body(), status=400)


async def unblock(request: web.Request) -> web.Response:
    """``DELETE {phone_number_id}/block_users``: these people may write again."""
    number = auth.own_number(request)
    blocked: list[str] = list(number.kept.get(NAME, []))
    removed = []
    for given, person in await _people(request, number):
        if person is not None:
            removed.append({"input": given, "wa_id": person, "user_id": user_id(person)})
            blocked = [each for each in blocked if each != person]
    request.app[NETWORK].record(
        {"fact": "kept", "owner_id": number.id, "name": NAME, "value": blocked}
    )
    return web.json_response({"messaging_product": "whatsapp", NAME: {"removed_users": removed}})


async def _people(request: web.Request, number: Number) -> list[tuple[str, str | None]]:
    """What the request calls each person, and whom that is; None for nobody."""
    payload = await graph_body(request)
    require_product(payload)
    users = payload.get(NAME)
    if not isinstance(users, list) or not users or not all(isinstance(u, dict) for u in users):
        raise errors.parameter("Param block_users must be an array of objects.")
    if len(users) > MOST_IN_REQUEST:
        raise errors.known(130429, f"A request names at most {MOST_IN_REQUEST} users.")
    known = {user_id(each): each for each in _acquaintances(request, number)}
    return [_person(user, known) for user in users]


def _person(user: dict[str, Any], known: dict[str, str]) -> tuple[str, str | None]:
    given = user.get("user", user.get("user_id"))
    if not isinstance(given, str) or not given:
        raise errors.parameter("Param block_users must name a user or a user_id each.")
    return given, known.get(given) or digits_of(given)


def _acquaintances(request: web.Request, number: Number) -> Iterator[str]:
    """Everybody who wrote to the number."""
    pairs = request.app[NETWORK].last_inbound
    return (person for number_id, person in pairs if number_id == number.id)


def _refusal(request: web.Request, number: Number, person: str | None) -> int | None:
    if person == number.digits:
        return 131021
    wrote_at = request.app[NETWORK].last_inbound.get((number.id, person or ""))
    return None if wrote_at is not None and clock.now() - wrote_at < WINDOW else 131047


def _failure(given: str, person: str | None, code: int) -> dict[str, Any]:
    row = errors.TABLE[code]
    error = {"message": row.title, "code": code, "error_data": {"details": row.details}}
    who = {"input": given} | ({} if person is None else {"wa_id": person})
    return who | {"errors": [error]}

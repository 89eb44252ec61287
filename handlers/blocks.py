"""Tag blocks of the contract: people whom a number has blocked."""

import re
from functools import partial
from typing import Any

from models.database import read
from models.numbers.number import Number
from networks.explanations import explained
from networks.interface import Blocking, BlockResult
from networks.registry import network_of, offered
from services.errors import ApiError, ConflictError, NotFoundError
from services.network_failures import Asked, asking
from services.owned import active_number

# The pattern of PersonId in the contract.
PERSON = re.compile(r"[1-9][0-9]{6,14}|[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII)
LISTING = Asked(
    verb="list its blocked people",
    done="changed",
    thing="request",
    unclear="so the list could not be read. Try again.",
)
BLOCKING = Asked(
    verb="block people",
    done="blocked",
    thing="request",
    unclear="so some people may have been blocked. Block them again. A repetition does no harm.",
)
UNBLOCKING = Asked(
    verb="unblock people",
    done="unblocked",
    thing="request",
    unclear="so the person may have been unblocked. Unblock them again. A repetition does no harm.",
)


async def _number(user: str, number_id: str, asked: Asked) -> Number:
    return await read(partial(active_number, number_id, user, asked.verb))


async def list_blocked(
    user: str, number_id: str, limit: int, after: str | None = None
) -> dict[str, Any]:
    """GET /numbers/{number_id}/blocked."""
    number = await _number(user, number_id, LISTING)
    async with asking(number, LISTING) as sender:
        page = await offered(Blocking, network_of(number)).list_blocked(sender, limit, after)
    people = [{"phone": person.phone, "userId": person.user_id} for person in page.people]
    return {"data": people, "after": page.after}


async def block_people(user: str, number_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    """POST /numbers/{number_id}/blocked."""
    number = await _number(user, number_id, BLOCKING)
    people = list(dict.fromkeys(payload["people"]))
    async with asking(number, BLOCKING) as sender:
        result = await offered(Blocking, network_of(number)).block(sender, people)
    if not result.done:
        raise _refused(result, "/people/0")
    failed = [
        {"person": person, "error": {"code": code, "message": explained(code, reason)}}
        for person, (code, reason) in result.failed.items()
    ]
    return {"blocked": list(result.done), "failed": failed}


async def unblock_person(user: str, number_id: str, person: str) -> tuple[None, int]:
    """DELETE /numbers/{number_id}/blocked/{person}."""
    number = await _number(user, number_id, UNBLOCKING)
    if not PERSON.fullmatch(person):
        raise NotFoundError(f"{person!r} is neither a phone number nor a user id.")
    async with asking(number, UNBLOCKING) as sender:
        result = await offered(Blocking, network_of(number)).unblock(sender, [person])
    if result.failed:
        raise _refused(result)
    return None, 204


def _refused(result: BlockResult, field: str | None = None) -> ApiError:
    """409 for a request that changed nothing, with the network's first error."""
    person, (code, reason) = next(iter(result.failed.items()))
    number = int(code) if code.isdecimal() else None
    return ConflictError(
        f"The messaging network refused {person}: {code} {explained(code, reason)}",
        network_code=number,
        field=field,
    )

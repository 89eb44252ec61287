"""Tag blocks of the contract: people whom a number has blocked."""

from typing import Any

from resources.number import block_result_object, blocked_page_object
from services import business


async def list_blocked(
    user: str,
    number_id: str,
    limit: int,
    after: str | None = None,
    offset: int = 0,  # noqa: ARG001 - the contract allows only 0
) -> dict[str, Any]:
    """GET /numbers/{number_id}/blocked."""
    page = await business.list_blocked(user, number_id, limit, after)
    return blocked_page_object(page, limit)


async def block_people(user: str, number_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    """POST /numbers/{number_id}/blocked."""
    return block_result_object(await business.block(user, number_id, payload["people"]))


async def unblock_person(user: str, number_id: str, person: str) -> tuple[None, int]:
    """DELETE /numbers/{number_id}/blocked/{person}."""
    await business.unblock(user, number_id, person)
    return None, 204

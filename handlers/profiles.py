"""Tag profiles of the contract: the public business profile of a number."""

from typing import Any

from resources.number import profile_object
from services import business


async def get_number_profile(user: str, number_id: str) -> dict[str, Any]:
    """GET /numbers/{number_id}/profile."""
    return profile_object(await business.get_profile(user, number_id))


async def update_number_profile(
    user: str, number_id: str, payload: dict[str, Any]
) -> dict[str, Any]:
    """PATCH /numbers/{number_id}/profile."""
    return profile_object(await business.update_profile(user, number_id, payload))

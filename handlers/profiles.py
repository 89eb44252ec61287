"""Tag profiles of the contract: the public business profile of a number."""

from functools import partial
from typing import Any

from models.database import read
from networks.interface import BusinessProfile, Profiles
from networks.registry import network_of, offered
from services.network_failures import Asked, asking
from services.owned import active_number

READING = Asked(
    verb="read its profile",
    done="changed",
    thing="request",
    unclear="so the profile could not be read. Try again.",
)
CHANGING = Asked(
    verb="change its profile",
    done="changed",
    thing="profile",
    unclear="so the profile may have been changed. Read it, and change it again if needed.",
)


def _render(profile: BusinessProfile) -> dict[str, Any]:
    return {
        "about": profile.about,
        "address": profile.address,
        "description": profile.description,
        "email": profile.email,
        "websites": list(profile.websites),
        "vertical": profile.vertical,
        "profilePictureUrl": profile.profile_picture_url,
    }


async def get_number_profile(user: str, number_id: str) -> dict[str, Any]:
    """GET /numbers/{number_id}/profile."""
    number = await read(partial(active_number, number_id, user, READING.verb))
    async with asking(number, READING) as sender:
        return _render(await offered(Profiles, network_of(number)).get_profile(sender))


async def update_number_profile(
    user: str, number_id: str, payload: dict[str, Any]
) -> dict[str, Any]:
    """PATCH /numbers/{number_id}/profile."""
    number = await read(partial(active_number, number_id, user, CHANGING.verb))
    async with asking(number, CHANGING) as sender:
        network = offered(Profiles, network_of(number))
        await network.update_profile(sender, payload)
        return _render(await network.get_profile(sender))

"""Reads and changes the public business profile of a number."""

from collections.abc import Mapping
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


async def get_profile(account_id: str, number_id: str) -> BusinessProfile:
    """The profile of the number. Raises DomainError."""
    number = await read(partial(active_number, number_id, account_id, READING.verb))
    async with asking(number, READING) as sender:
        return await offered(Profiles, network_of(number)).get_profile(sender)


async def update_profile(
    account_id: str, number_id: str, changes: Mapping[str, Any]
) -> BusinessProfile:
    """Change these values. Returns the whole profile. Raises DomainError."""
    number = await read(partial(active_number, number_id, account_id, CHANGING.verb))
    async with asking(number, CHANGING) as sender:
        network = offered(Profiles, network_of(number))
        await network.update_profile(sender, changes)
        return await network.get_profile(sender)

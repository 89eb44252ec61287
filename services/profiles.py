"""Reads and changes the public business profile of a number."""

from collections.abc import Mapping
from typing import Any

from networks.interface import BusinessProfile, Profiles
from services.network_failures import Asked, calling

READING = Asked(
    verb="read its profile",
    done="changed",
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
    async with calling(Profiles, account_id, number_id, READING) as (network, sender):
        return await network.get_profile(sender)


async def update_profile(
    account_id: str, number_id: str, changes: Mapping[str, Any]
) -> BusinessProfile:
    """Change these values. Returns the whole profile. Raises DomainError."""
    async with calling(Profiles, account_id, number_id, CHANGING) as (network, sender):
        await network.update_profile(sender, changes)
        return await network.get_profile(sender)

"""The BusinessProfile object of the contract."""

from typing import Any

from networks.interface import BusinessProfile


def profile_object(profile: BusinessProfile) -> dict[str, Any]:
    """The BusinessProfile object."""
    return {
        "about": profile.about,
        "address": profile.address,
        "description": profile.description,
        "email": profile.email,
        "websites": list(profile.websites),
        "vertical": profile.vertical,
        "profilePictureUrl": profile.profile_picture_url,
    }

"""The SignupLink object of the contract."""

from typing import Any

from gateway.settings import get_settings
from models.clock import timestamp
from models.numbers.signup import SignupLink


def signup_link_object(link: SignupLink) -> dict[str, Any]:
    """The SignupLink object of a row, with the identifiers that the platform's dialog needs."""
    settings = get_settings()
    return {
        "slug": link.slug,
        "accountName": link.account.name,
        "createdAt": timestamp(link.created_at),
        "expiresAt": timestamp(link.expires_at),
        "appId": settings.network_app_id,
        "configId": settings.network_config_id,
    }

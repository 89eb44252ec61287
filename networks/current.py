"""The network that the settings name."""

from functools import cache

from gateway.settings import get_settings
from networks.cloud_api import CloudApi
from networks.interface import Network


@cache
def get_network() -> Network:
    """The network of this process."""
    settings = get_settings()
    return CloudApi(
        settings.network_url,
        settings.network_version,
        settings.network_app_id,
        settings.network_app_secret.get_secret_value(),
        settings.network_timeout,
        settings.threads,
    )

"""A client of the Messaging Gateway: send messages, read events and verify webhooks.

``Client`` is blocking, ``AsyncClient`` is for asyncio. ``types`` has the objects of the API.
"""

from messaging_gateway_client.async_client import AsyncClient as AsyncClient
from messaging_gateway_client.async_client import AsyncDownload as AsyncDownload
from messaging_gateway_client.client import Client as Client
from messaging_gateway_client.client import Download as Download
from messaging_gateway_client.errors import AuthenticationError as AuthenticationError
from messaging_gateway_client.errors import ConflictError as ConflictError
from messaging_gateway_client.errors import GatewayError as GatewayError
from messaging_gateway_client.errors import InvalidRequestError as InvalidRequestError
from messaging_gateway_client.errors import NoResponseError as NoResponseError
from messaging_gateway_client.errors import NotFoundError as NotFoundError
from messaging_gateway_client.errors import PermissionDeniedError as PermissionDeniedError
from messaging_gateway_client.errors import RateLimitedError as RateLimitedError
from messaging_gateway_client.errors import ServerError as ServerError
from messaging_gateway_client.version import __version__ as __version__
from messaging_gateway_client.webhooks import WebhookError as WebhookError
from messaging_gateway_client.webhooks import verify_and_parse as verify_and_parse

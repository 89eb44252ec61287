"""The endpoint of the network's callbacks, /network/callback, which is not part of the contract.

A callback is stored unchanged before the response, and ingested later (docs/architecture.md, One callback).
gateway.http.callback_endpoint is its HTTP part.
"""

import hmac
from collections.abc import Mapping

from gateway.settings import get_settings
from models.messages.callback import Callback
from networks.whatsapp import signature
from services import doorbells, telemetry
from services.errors import ApiError, ForbiddenError


def verify(query: Mapping[str, str]) -> str:
    """The challenge of the verification handshake. Raises ForbiddenError for a wrong verify token."""
    wanted = get_settings().network_verify_token.get_secret_value()
    given = query.get("hub.verify_token", "")
    is_ours = hmac.compare_digest(wanted.encode(), given.encode("utf-8", "surrogatepass"))
    if query.get("hub.mode") != "subscribe" or not is_ours:
        raise ForbiddenError("hub.mode or hub.verify_token is wrong.")
    return query.get("hub.challenge", "")


def authenticate(body: bytes, given: str | None) -> None:
    """Raise ApiError unless ``given`` is the signature of the raw body."""
    secret = get_settings().network_app_secret.get_secret_value()
    if not signature.is_authentic(secret, body, given):
        telemetry.CALLBACKS.labels(outcome="forged").inc()
        raise ApiError("The signature of the callback is wrong.", status=401)


def store(body: bytes) -> None:
    """Store an authentic callback."""
    Callback.store(body)


def arrived() -> None:
    """Count a stored callback, and wake the worker that ingests it."""
    telemetry.CALLBACKS.labels(outcome="accepted").inc()
    doorbells.callbacks.ring()

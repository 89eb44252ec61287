"""The network's callback, /network/callback: the service's own, not part of the contract.

Stored raw before it is answered, ingested afterwards (design, section 2.2). HTTP is spoken by
gateway.http.intake.
"""

import hmac
from collections.abc import Mapping

from gateway.settings import get_settings
from handlers.errors import ForbiddenError, UnauthorizedError
from models.callback import Callback
from networks import signature
from tasks import ingest, meters


def verify(query: Mapping[str, str]) -> str:
    """The verification handshake: the challenge. Raises ForbiddenError unless the token is ours."""
    wanted = get_settings().network_verify_token.get_secret_value()
    given = query.get("hub.verify_token", "")
    is_ours = hmac.compare_digest(wanted.encode(), given.encode("utf-8", "surrogatepass"))
    if query.get("hub.mode") != "subscribe" or not is_ours:
        raise ForbiddenError("hub.mode or hub.verify_token is wrong.")
    return query.get("hub.challenge", "")


def authenticate(body: bytes, given: str | None) -> None:
    """Raises UnauthorizedError unless ``given`` is the signature over the raw bytes."""
    secret = get_settings().network_app_secret.get_secret_value()
    if not signature.is_authentic(secret, body, given):
        meters.CALLBACKS.labels(outcome="forged").inc()
        raise UnauthorizedError("The signature of the callback is wrong.")


def store(body: bytes) -> str:
    """Keep an authentic callback. Returns its identifier."""
    [stored] = Callback.store(body)
    return str(stored.id)


def arrived(callback_id: str) -> None:
    """Have a callback ingested that is stored."""
    meters.CALLBACKS.labels(outcome="accepted").inc()
    ingest.enqueue(callback_id)

"""The network's callback, /network/callback: the service's own, not part of the contract.

Stored raw before it is answered, ingested afterwards (design, section 2.2).
"""

import hmac

from flask import Blueprint, Response, request

from gateway.settings import get_settings
from handlers.errors import ForbiddenError, UnauthorizedError
from models.callback import Callback
from networks import signature
from tasks import ingest, meters

blueprint = Blueprint("network", __name__)


@blueprint.get("/network/callback")
def verify() -> Response:
    """The verification handshake: the bare challenge, if the token is ours."""
    wanted = get_settings().network_verify_token.get_secret_value()
    given = request.args.get("hub.verify_token", "")
    is_ours = hmac.compare_digest(wanted.encode(), given.encode("utf-8", "surrogatepass"))
    if request.args.get("hub.mode") != "subscribe" or not is_ours:
        raise ForbiddenError("hub.mode or hub.verify_token is wrong.")
    return Response(request.args.get("hub.challenge", ""), mimetype="text/plain")


@blueprint.post("/network/callback")
def receive() -> Response:
    """Take a callback in: 401 unless its signature over the raw bytes is right, else 200 at once."""
    body = request.get_data()
    secret = get_settings().network_app_secret.get_secret_value()
    if not signature.is_authentic(secret, body, request.headers.get(signature.HEADER)):
        meters.CALLBACKS.labels(outcome="forged").inc()
        raise UnauthorizedError("The signature of the callback is wrong.")
    callback = Callback.store(body)
    meters.CALLBACKS.labels(outcome="accepted").inc()
    ingest.enqueue(callback.id)
    return Response(status=200)

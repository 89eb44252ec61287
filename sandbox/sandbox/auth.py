"""Authenticates calls of the Graph paths: access tokens and the app's credentials."""

from __future__ import annotations

import hashlib
import hmac

from aiohttp import web

from sandbox import clock, graph_errors
from sandbox.entities import Number, Token, Waba
from sandbox.keys import NETWORK, SETTINGS
from sandbox.settings import Settings

# Uploads are documented with the second.
SCHEMES = ("bearer", "oauth")


def bearer(request: web.Request) -> str:
    """The access token, from the header or the ``access_token`` parameter; empty without one."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and value.strip():
        return value.strip()
    return request.query.get("access_token", "")


def tokens_of(request: web.Request) -> tuple[str, str]:
    """The access tokens of the header and of the query; empty without one."""
    return bearer(request), request.query.get("access_token", "")


def require_token(request: web.Request) -> Token:
    """The business token of the request. Raises GraphError 0 or 190, both HTTP 401."""
    value = bearer(request)
    if not value.startswith("EAA"):
        raise graph_errors.unreadable_token()
    token = request.app[NETWORK].tokens.get(value)
    if token is None or token.revoked:
        raise graph_errors.void_token()
    if token.expires_at is not None and token.is_expired(clock.now()):
        raise graph_errors.expired_token(token.expires_at)
    _check_proof(request, value)
    return token


def require_app_token(request: web.Request) -> None:
    """The request must carry ``APP_ID|APP_SECRET``. Raises GraphError 0 or 190."""
    settings = request.app[SETTINGS]
    # Clients may send their own token in the header and the app's token in the query.
    value = next((each for each in tokens_of(request) if "|" in each), "")
    if "|" not in value:
        raise graph_errors.unreadable_token()
    app_id, _, secret = value.partition("|")
    if not is_app(settings, app_id, secret):
        raise graph_errors.void_token()


def require_any(request: web.Request) -> None:
    """The request must carry a valid token of a business or of the app. Raises GraphError 0 or 190."""
    if any("|" in each for each in tokens_of(request)):
        require_app_token(request)
    else:
        require_token(request)


def is_app(settings: Settings, app_id: str, secret: str) -> bool:
    """Whether these are the app's credentials, compared in constant time."""
    return _same(secret, settings.app_secret) and _same(app_id, settings.app_id)


def own_number(request: web.Request) -> Number:
    """The number of the path, if the token has access to it.

    Raises GraphError 100/33 for an unknown number, and for a number of another account.
    """
    token, object_id = require_token(request), request.match_info["object_id"]
    number = request.app[NETWORK].numbers.get(object_id)
    if number is None or number.waba_id != token.waba_id:
        raise graph_errors.no_such_object(request.method, object_id)
    return number


def own_waba(request: web.Request) -> Waba:
    """The WABA of the path, if the token has access to it. Raises GraphError 100/33."""
    token, object_id = require_token(request), request.match_info["object_id"]
    waba = request.app[NETWORK].wabas.get(object_id)
    if waba is None or waba.id != token.waba_id:
        raise graph_errors.no_such_object(request.method, object_id)
    return waba


def own_business(request: web.Request) -> list[Waba]:
    """The accounts of the path's business that the token may read. Raises GraphError 100/33."""
    token, object_id = require_token(request), request.match_info["object_id"]
    waba = request.app[NETWORK].wabas.get(token.waba_id)
    if waba is None or waba.business_id != object_id:
        raise graph_errors.no_such_object(request.method, object_id)
    return [waba]


def _check_proof(request: web.Request, token: str) -> None:
    proof = request.query.get("appsecret_proof")
    if proof is None:
        return
    expected = hmac.new(
        request.app[SETTINGS].app_secret.encode(), token.encode(), hashlib.sha256
    ).hexdigest()
    if not _same(proof, expected):
        raise graph_errors.oauth("Invalid appsecret_proof provided in the API argument", 100)


def _same(given: str, expected: str) -> bool:
    # Header bytes that are not valid text arrive as lone surrogates.
    return hmac.compare_digest(given.encode(errors="surrogatepass"), expected.encode())

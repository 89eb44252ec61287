"""The token exchange of embedded signup, and the inspection of tokens."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import auth, clock, errors
from sandbox.entities import Token
from sandbox.keys import NETWORK, SETTINGS
from sandbox.numbering import new_token

SCOPES = ["whatsapp_business_management", "whatsapp_business_messaging"]


async def exchange_code(request: web.Request) -> web.Response:
    """``GET oauth/access_token``: a signup code becomes a business token.

    A code works once, within 30 seconds.
    """
    query, network = request.query, request.app[NETWORK]
    for name in ("client_id", "client_secret", "code"):
        if not query.get(name):
            raise errors.oauth(f"Missing {name} parameter.", 100)
    if not auth.is_app(request.app[SETTINGS], query["client_id"], query["client_secret"]):
        raise errors.oauth("Error validating client secret.", 1)
    code, now = network.codes.get(query["code"]), clock.now()
    if code is None:
        raise errors.oauth("Invalid verification code format.", 100, 36008)
    if code.used:
        raise errors.oauth("This authorization code has been used.", 100, 36009)
    if now > code.expires_at:
        raise errors.oauth("This authorization code has expired.", 100, 36007)
    value, life = new_token(), network.behaviour.token_life_seconds
    network.record(
        {
            "fact": "token",
            "value": value,
            "waba_id": code.waba_id,
            "issued_at": now,
            "expires_at": now + life if life else None,
            "code": code.value,
        }
    )
    answer: dict[str, Any] = {"access_token": value, "token_type": "bearer"}
    return web.json_response(answer | ({"expires_in": int(life)} if life else {}))


async def debug_token(request: web.Request) -> web.Response:
    """``GET debug_token``: what a token is good for. Needs the app token."""
    auth.require_app_token(request)
    value = request.query.get("input_token")
    if not value:
        raise errors.parameter("The parameter input_token is required.")
    app_id = request.app[SETTINGS].app_id
    token = request.app[NETWORK].tokens.get(value)
    problem = _problem(token)
    if token is None:
        return web.json_response(
            {"data": {"app_id": app_id, "is_valid": False, "error": problem, "scopes": []}}
        )
    data = {
        "app_id": app_id,
        "type": "SYSTEM_USER",
        "application": "Sandbox",
        "data_access_expires_at": 0,
        # 0 stands for never.
        "expires_at": int(token.expires_at or 0),
        "is_valid": problem is None,
        "issued_at": int(token.issued_at),
        "scopes": SCOPES,
        "granular_scopes": [{"scope": scope, "target_ids": [token.waba_id]} for scope in SCOPES],
    }
    return web.json_response({"data": data | ({"error": problem} if problem else {})})


def _problem(token: Token | None) -> dict[str, Any] | None:
    if token is None:
        return {"code": 190, "message": "Invalid OAuth access token."}
    error = None
    if token.revoked:
        error = errors.void_token().error
    elif token.expires_at is not None and token.is_expired(clock.now()):
        error = errors.expired_token(token.expires_at).error
    names = {"code": "code", "message": "message", "error_subcode": "subcode"}
    return error and {shown: error[name] for name, shown in names.items()}

"""The token exchange of embedded signup, and the inspection of tokens."""

from __future__ import annotations

from aiohttp import web

from sandbox import auth, clock, errors
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
    value = new_token()
    network.record(
        {
            "fact": "token",
            "value": value,
            "waba_id": code.waba_id,
            "issued_at": now,
            "code": code.value,
        }
    )
    return web.json_response({"access_token": value, "token_type": "bearer"})


async def debug_token(request: web.Request) -> web.Response:
    """``GET debug_token``: what a token is good for. Needs the app token."""
    auth.require_app_token(request)
    value = request.query.get("input_token")
    if not value:
        raise errors.parameter("The parameter input_token is required.")
    app_id = request.app[SETTINGS].app_id
    token = request.app[NETWORK].tokens.get(value)
    if token is None:
        error = {"code": 190, "message": "Invalid OAuth access token."}
        return web.json_response(
            {"data": {"app_id": app_id, "is_valid": False, "error": error, "scopes": []}}
        )
    data = {
        "app_id": app_id,
        "type": "SYSTEM_USER",
        "application": "Sandbox",
        "data_access_expires_at": 0,
        "expires_at": 0,
        "is_valid": True,
        "issued_at": int(token.issued_at),
        "scopes": SCOPES,
        "granular_scopes": [{"scope": scope, "target_ids": [token.waba_id]} for scope in SCOPES],
    }
    return web.json_response({"data": data})

"""The token exchange of embedded signup, and the inspection of tokens."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from sandbox import auth, clock, graph_errors
from sandbox.bodies import graph_body
from sandbox.entities import Token
from sandbox.keys import NETWORK, SETTINGS
from sandbox.numbering import new_token

SCOPES = ["whatsapp_business_management", "whatsapp_business_messaging"]


async def exchange_code(request: web.Request) -> web.Response:
    """``GET`` or ``POST oauth/access_token``: a signup code becomes a business token.

    A code works once, within 30 seconds. With the grant ``client_credentials`` the app gets its own token.
    """
    given, network, settings = (
        await graph_body(request),
        request.app[NETWORK],
        request.app[SETTINGS],
    )
    is_own = given.get("grant_type") == "client_credentials"
    asked = {name: str(given.get(name, "")) for name in ("client_id", "client_secret", "code")}
    for name, value in asked.items():
        if not value and not (is_own and name == "code"):
            raise graph_errors.oauth(f"Missing {name} parameter.", 100)
    if not auth.is_app(settings, asked["client_id"], asked["client_secret"]):
        raise graph_errors.oauth("Error validating client secret.", 1)
    if is_own:
        app_token = f"{settings.app_id}|{settings.app_secret}"
        return web.json_response({"access_token": app_token, "token_type": "bearer"})
    code, now = network.codes.get(asked["code"]), clock.now()
    if code is None:
        raise graph_errors.oauth("Invalid verification code format.", 100, 36008)
    if code.used:
        raise graph_errors.oauth("This authorization code has been used.", 100, 36009)
    if now > code.expires_at:
        raise graph_errors.oauth("This authorization code has expired.", 100, 36007)
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
    """``GET debug_token``: the permissions of a token. Needs the app token, or the same token."""
    value = request.query.get("input_token")
    if value is None or value not in auth.tokens_of(request):
        auth.require_app_token(request)
    if not value:
        raise graph_errors.parameter("The parameter input_token is required.")
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
        # 0 means never.
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
        error = graph_errors.void_token().error
    elif token.expires_at is not None and token.is_expired(clock.now()):
        error = graph_errors.expired_token(token.expires_at).error
    names = {"code": "code", "message": "message", "error_subcode": "subcode"}
    return error and {shown: error[name] for name, shown in names.items()}

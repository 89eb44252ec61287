"""Paths of a WhatsApp Business Account, and of any node by its id."""

from __future__ import annotations

import asyncio
import hmac
import secrets

import aiohttp
from aiohttp import web

from sandbox import auth, errors
from sandbox.bodies import graph_body
from sandbox.keys import NETWORK, OUTBOX, SETTINGS
from sandbox.nodes import number_node, waba_node

# The platform gives up on the verification request after about this many seconds.
HANDSHAKE_TIMEOUT = 6.0


async def get_node(request: web.Request) -> web.Response:
    """``GET {id}``: a number or a WABA, with ``fields``."""
    fields = request.query.get("fields")
    if request.match_info["object_id"] in request.app[NETWORK].wabas:
        return web.json_response(waba_node(auth.own_waba(request), fields))
    return web.json_response(number_node(auth.own_number(request), fields))


async def list_numbers(request: web.Request) -> web.Response:
    """``GET {waba_id}/phone_numbers``: all of them on one page."""
    waba = auth.own_waba(request)
    numbers = [
        number for number in request.app[NETWORK].numbers.values() if number.waba_id == waba.id
    ]
    data = [number_node(number, request.query.get("fields")) for number in numbers]
    return web.json_response(
        {"data": data, "paging": {"cursors": {"before": "QVFI", "after": "QVFI"}}}
    )


async def subscribe(request: web.Request) -> web.Response:
    """``POST {waba_id}/subscribed_apps``: after the handshake, callbacks of this WABA are sent."""
    waba = auth.own_waba(request)
    payload = await graph_body(request)
    if "override_callback_uri" in payload:
        # Taking it and sending the callbacks elsewhere would be worse than saying so.
        raise errors.parameter("override_callback_uri is not supported by this sandbox")
    await _verify_callback(request)
    if not waba.subscribed:
        request.app[NETWORK].record(
            {"fact": "subscription", "waba_id": waba.id, "subscribed": True}
        )
    return web.json_response({"success": True})


async def list_subscriptions(request: web.Request) -> web.Response:
    """``GET {waba_id}/subscribed_apps``: our app, or nothing."""
    waba = auth.own_waba(request)
    app = {
        "id": request.app[SETTINGS].app_id,
        "name": "Sandbox",
        "link": "https://www.facebook.com/games/",
    }
    return web.json_response(
        {"data": [{"whatsapp_business_api_data": app}] if waba.subscribed else []}
    )


async def unsubscribe(request: web.Request) -> web.Response:
    """``DELETE {waba_id}/subscribed_apps``: from now on its callbacks are dropped."""
    waba = auth.own_waba(request)
    if waba.subscribed:
        request.app[NETWORK].record(
            {"fact": "subscription", "waba_id": waba.id, "subscribed": False}
        )
    return web.json_response({"success": True})


async def _verify_callback(request: web.Request) -> None:
    challenge = str(secrets.randbelow(9_000_000_000) + 1_000_000_000)
    try:
        status, body = await asyncio.wait_for(_ask(request, challenge), HANDSHAKE_TIMEOUT)
    except TimeoutError as error:
        raise _unverified(
            "HTTP Timeout; curl_errno = 28; curl_error = Operation timed out"
        ) from error
    except (aiohttp.ClientError, OSError) as error:
        raise _unverified("curl_errno = 7; curl_error = Failed to connect") from error
    if status != 200:  # noqa: PLR2004 - OK, and nothing else
        raise _unverified(f"HTTP Status Code = {status}")
    if not hmac.compare_digest(body, challenge.encode()):
        raise _unverified("the response does not match the challenge")


async def _ask(request: web.Request, challenge: str) -> tuple[int, bytes]:
    settings = request.app[SETTINGS]
    query = {
        "hub.mode": "subscribe",
        "hub.challenge": challenge,
        "hub.verify_token": settings.verify_token,
    }
    session = request.app[OUTBOX].session
    unbounded = aiohttp.ClientTimeout(total=None)
    async with session.get(
        settings.callback_url, params=query, timeout=unbounded, allow_redirects=False
    ) as answer:
        return answer.status, await answer.content.read(len(challenge) + 1)


def _unverified(reason: str) -> errors.GraphError:
    return errors.oauth(
        f"(#2200) Callback verification failed with the following errors: {reason}", 2200
    )

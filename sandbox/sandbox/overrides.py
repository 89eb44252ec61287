"""Where callbacks go: the verification handshake, and URLs that replace the app's.

Cloud API, Webhooks: overriding the callback.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from sandbox import graph_errors
from sandbox.entities import Number
from sandbox.keys import NETWORK, OUTBOX, SETTINGS

# The platform gives up on the verification request after about this many seconds.
HANDSHAKE_TIMEOUT = 6.0
MAX_URL = 200


async def check(request: web.Request, payload: dict[str, Any], waba_id: str) -> str:
    """The verified URL of a request to override the callback.

    Raises GraphError 100 when the WABA is not subscribed yet or the request makes no sense, 2200
    when the URL fails the handshake.
    """
    if not request.app[NETWORK].wabas[waba_id].subscribed:
        raise graph_errors.parameter(
            "Before override the current callback uri, your app must be subscribed to receive"
            " messages for WhatsApp Business Account"
        )
    url, token = payload.get("override_callback_uri"), payload.get("verify_token")
    if not isinstance(url, str) or len(url) > MAX_URL or not is_url(url):
        raise graph_errors.parameter(
            f"Param override_callback_uri must be a URL of at most {MAX_URL} characters."
        )
    if not isinstance(token, str) or not token:
        raise graph_errors.parameter("The parameter verify_token is required.")
    await shake_hands(request, url, token)
    return url


async def configure(request: web.Request, number: Number, configuration: object) -> None:
    """Set a number's own URL, or remove it when the URL is empty. Raises GraphError 100, 2200."""
    if not isinstance(configuration, dict):
        raise graph_errors.parameter("Param webhook_configuration must be an object.")
    url = None
    if configuration.get("override_callback_uri") != "":
        url = await check(request, configuration, number.waba_id)
    request.app[NETWORK].record({"fact": "override", "number_id": number.id, "url": url})


def in_force(request: web.Request, number: Number) -> dict[str, str]:
    """The URLs for a number as ``webhook_configuration`` shows them; the nearest one counts."""
    waba = request.app[NETWORK].wabas[number.waba_id]
    urls = {
        "phone_number": number.override_url,
        "whatsapp_business_account": waba.override_url,
        "application": request.app[SETTINGS].callback_url,
    }
    return {level: url for level, url in urls.items() if url is not None}


async def shake_hands(request: web.Request, url: str, token: str) -> None:
    """Send a challenge to a URL, which must echo it. Raises GraphError 2200."""
    challenge = str(secrets.randbelow(9_000_000_000) + 1_000_000_000)
    try:
        asked = _ask(request, url, token, challenge)
        status, body = await asyncio.wait_for(asked, HANDSHAKE_TIMEOUT)
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


async def _ask(request: web.Request, url: str, token: str, challenge: str) -> tuple[int, bytes]:
    query = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": token}
    session = request.app[OUTBOX].client.session
    unbounded = aiohttp.ClientTimeout(total=None)
    async with session.get(url, params=query, timeout=unbounded, allow_redirects=False) as answer:
        return answer.status, await answer.content.read(len(challenge) + 1)


def is_url(text: str) -> bool:
    """Whether callbacks can go there."""
    try:
        parts = urlsplit(text)
        # Plain http is for receivers on this machine, as with the app's own callback.
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _unverified(reason: str) -> graph_errors.GraphError:
    return graph_errors.oauth(
        f"(#2200) Callback verification failed with the following errors: {reason}", 2200
    )

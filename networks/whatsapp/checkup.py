"""Checks that the network and the callback URL respond, for ``gateway doctor``."""

import contextlib
import secrets
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import NamedTuple

import aiohttp

from networks.exceptions import NotReachedError


async def ask_time(url: str, seconds: float) -> datetime | None:
    """The Date header of the server's response at ``url``, None if there is none.

    Waits for at most ``seconds``. Raises NotReachedError.
    """
    date = (await _get(url, seconds)).date
    with contextlib.suppress(ValueError):
        return parsedate_to_datetime(date)
    return None


async def shake_hands(callback_url: str, verify_token: str, seconds: float) -> int:
    """Verify a callback URL like the platform.

    Returns the HTTP status of the response, or 0 for a 200 without the challenge. Raises NotReachedError.
    Source: Graph API, Webhooks, verification requests.
    """
    challenge = secrets.token_hex(8)
    question = {
        "hub.mode": "subscribe",
        "hub.verify_token": verify_token,
        "hub.challenge": challenge,
    }
    answer = await _get(callback_url, seconds, question)
    if answer.status == HTTPStatus.OK and answer.body != challenge.encode():
        return 0
    return answer.status


class _Answer(NamedTuple):
    status: int
    date: str
    body: bytes


async def _get(url: str, seconds: float, query: Mapping[str, str] | None = None) -> _Answer:
    """The response, without redirects. No error contains the URL, which may contain a token."""
    try:
        return await _fetch(url, seconds, query)
    except aiohttp.ClientSSLError:
        raise NotReachedError("tls", "Its certificate is not accepted.") from None
    except TimeoutError:
        raise NotReachedError("timeout", f"No response within {seconds:g} s.") from None
    except aiohttp.ClientError:
        raise NotReachedError("unreachable", "Nobody answers there.") from None


async def _fetch(url: str, seconds: float, query: Mapping[str, str] | None) -> _Answer:
    limit = aiohttp.ClientTimeout(total=seconds)
    async with (
        aiohttp.ClientSession(timeout=limit) as session,
        session.get(url, params=query, allow_redirects=False) as response,
    ):
        return _Answer(response.status, response.headers.get("Date", ""), await response.read())

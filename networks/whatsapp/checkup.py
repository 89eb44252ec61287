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
from networks.registry import wait_for


def ask_time(url: str, timeout: float) -> datetime | None:
    """The Date header of the server's response at ``url``, None if there is none.

    ``timeout`` is in seconds. Raises NotReachedError.
    """
    date = _get(url, timeout).date
    with contextlib.suppress(ValueError):
        return parsedate_to_datetime(date)
    return None


def shake_hands(callback_url: str, verify_token: str, timeout: float) -> int:
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
    answer = _get(callback_url, timeout, question)
    if answer.status == HTTPStatus.OK and answer.body != challenge.encode():
        return 0
    return answer.status


class _Answer(NamedTuple):
    status: int
    date: str
    body: bytes


def _get(url: str, timeout: float, query: Mapping[str, str] | None = None) -> _Answer:
    """The response, without redirects. No error contains the URL, which may contain a token."""
    try:
        # On the shared loop of the process, because aiohttp's resolver (pycares) once crashed a process in
        # which several threads began to use it at the same time.
        return wait_for(_fetch(url, timeout, query))
    except aiohttp.ClientSSLError:
        raise NotReachedError("tls", "Its certificate is not accepted.") from None
    except TimeoutError:
        raise NotReachedError("timeout", f"No response within {timeout:g} s.") from None
    except aiohttp.ClientError:
        raise NotReachedError("unreachable", "Nobody answers there.") from None


async def _fetch(url: str, seconds: float, query: Mapping[str, str] | None) -> _Answer:
    limit = aiohttp.ClientTimeout(total=seconds)
    async with (
        aiohttp.ClientSession(timeout=limit) as session,
        session.get(url, params=query, allow_redirects=False) as response,
    ):
        return _Answer(response.status, response.headers.get("Date", ""), await response.read())

"""Checks that the network and the callback URL respond, for ``gateway doctor``."""

import contextlib
import secrets
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import aiohttp

from networks.exceptions import NotReachedError


class CheckupCalls:
    """Implements networks.interface.Checkup."""

    _base_url: str
    _verify_token: str

    async def get_time(self, seconds: float) -> datetime | None:
        """The Date header of a response of the platform."""
        response, _ = await _get(self._base_url, seconds)
        with contextlib.suppress(ValueError):
            return parsedate_to_datetime(response.headers.get("Date", ""))
        return None

    async def verify(self, callback_url: str, seconds: float) -> int:
        """The verification request of the platform, from here. Source: Graph API, Webhooks."""
        challenge = secrets.token_hex(8)
        question = {
            "hub.mode": "subscribe",
            "hub.verify_token": self._verify_token,
            "hub.challenge": challenge,
        }
        response, body = await _get(callback_url, seconds, question)
        is_wrong = response.status == HTTPStatus.OK and body != challenge.encode()
        return 0 if is_wrong else response.status


async def _get(
    url: str, seconds: float, query: Mapping[str, str] | None = None
) -> tuple[aiohttp.ClientResponse, bytes]:
    """The response and its body, without redirects. Raises NotReachedError.

    No error contains the URL, which may contain a token.
    """
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session,
            session.get(url, params=query, allow_redirects=False) as response,
        ):
            return response, await response.read()
    except aiohttp.ClientSSLError:
        raise NotReachedError("tls", "Its certificate is not accepted.") from None
    except TimeoutError:
        raise NotReachedError("timeout", f"No response within {seconds:g} s.") from None
    except aiohttp.ClientError:
        raise NotReachedError("unreachable", "Nobody answers there.") from None

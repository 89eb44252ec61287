"""Is the network there, and are we there for the network: what ``gateway doctor`` asks from outside."""

import contextlib
import secrets
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from networks.errors import NotReachedError


def ask_time(url: str, timeout: float) -> datetime | None:
    """The time of the server at ``url``, by any answer of it; None when the answer tells none.

    ``timeout`` is in seconds. Raises NotReachedError.
    """
    date = _get(url, timeout).headers.get("Date", "")
    with contextlib.suppress(ValueError):
        return parsedate_to_datetime(date)
    return None


def shake_hands(callback_url: str, verify_token: str, timeout: float) -> int:
    """Play the platform's part in the verification of a callback's address.

    Returns the HTTP status of the answer; 0 when it was 200 but did not give the challenge back.
    Raises NotReachedError. Source: Graph API, Webhooks, verification requests.
    """
    challenge = secrets.token_hex(8)
    question = {
        "hub.mode": "subscribe",
        "hub.verify_token": verify_token,
        "hub.challenge": challenge,
    }
    answer = _get(callback_url, timeout, params=question)
    if answer.status_code == requests.codes.ok and answer.text != challenge:
        return 0
    return answer.status_code


def _get(url: str, timeout: float, **request: Any) -> requests.Response:
    """The answer, redirects not followed. No text of ours names the address: it may hold a token."""
    try:
        with requests.Session() as session:
            session.trust_env = False
            return session.get(url, timeout=timeout, allow_redirects=False, **request)
    except requests.exceptions.SSLError:
        raise NotReachedError("tls", "Its certificate is not accepted.") from None
    except requests.Timeout:
        raise NotReachedError("timeout", f"No answer within {timeout:g} s.") from None
    except requests.RequestException:
        raise NotReachedError("unreachable", "Nobody answers there.") from None

"""Does the person's part of the embedded signup through the sandbox's control API."""

import asyncio
from dataclasses import dataclass
from typing import Any

import aiohttp

TIMEOUT_SECONDS = 10


class SandboxUnreachableError(Exception):
    """The sandbox did not sign up the number. The text says why."""


@dataclass(frozen=True)
class SignupResult:
    """The values that the embedded signup passes to the browser."""

    code: str
    phone_number_id: str
    waba_id: str


def start_signup(base_url: str, phone: str | None) -> SignupResult:
    """Sign up the number with these digits, or any number. Raises SandboxUnreachableError."""
    try:
        is_signed_up, answer = asyncio.run(
            _post(f"{base_url}/_sandbox/signup", {"phone": phone} if phone else {})
        )
    except (aiohttp.ClientError, TimeoutError, ValueError):
        raise SandboxUnreachableError(
            f"There is no sandbox at {base_url}. Start it first."
        ) from None
    if not is_signed_up:
        raise SandboxUnreachableError(f"The sandbox refused: {answer['error']['message']}")
    return SignupResult(answer["code"], answer["phone_number_id"], answer["waba_id"])


async def _post(url: str, body: dict[str, str]) -> tuple[bool, Any]:
    """Whether the request succeeded, and the JSON of the response. Ignores the environment's proxies."""
    limit = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=limit) as session,
        session.post(url, json=body) as response,
    ):
        return response.ok, await response.json()

"""The person's part of the embedded signup, played against the sandbox's control API."""

from dataclasses import dataclass

import requests

TIMEOUT_SECONDS = 10


class SandboxUnreachableError(Exception):
    """The sandbox did not play along. The text says why."""


@dataclass(frozen=True)
class SignupResult:
    """What the embedded signup hands to the browser."""

    code: str
    phone_number_id: str
    waba_id: str


def start_signup(base_url: str, phone: str | None) -> SignupResult:
    """Sign up a number, the given digits or one of the sandbox's choice. Raises SandboxUnreachableError."""
    try:
        with requests.Session() as session:
            # The sandbox is on this machine; a proxy of the environment is not.
            session.trust_env = False
            response = session.post(
                f"{base_url}/_sandbox/signup",
                json={"phone": phone} if phone else {},
                timeout=TIMEOUT_SECONDS,
            )
        answer = response.json()
    except requests.RequestException:
        raise SandboxUnreachableError(
            f"There is no sandbox at {base_url}. Start it first."
        ) from None
    if not response.ok:
        raise SandboxUnreachableError(f"The sandbox refused: {answer['error']['message']}")
    return SignupResult(answer["code"], answer["phone_number_id"], answer["waba_id"])

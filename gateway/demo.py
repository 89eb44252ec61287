"""A first account to try things with: the embedded signup run against the sandbox."""

import secrets

from gateway.settings import Settings
from models.account import Account
from models.number import Number
from models.signup_link import SignupLink
from networks.errors import NetworkError
from networks.sandbox_signup import SandboxUnreachableError, start_signup
from tasks import onboarding

DEMO_ACCOUNT = "Demo"


class SignupFailedError(Exception):
    """The signup against the sandbox did not end in a connected number."""


def connect_sandbox_number(settings: Settings, account: Account, phone: str | None) -> Number:
    """What the owner of a number does in a browser. Raises SignupFailedError."""
    try:
        signup = start_signup(settings.network_url, phone)
        link = SignupLink.open(account, f"sandbox-{secrets.token_hex(6)}")
        claim = onboarding.SignupClaim(signup.code, signup.phone_number_id, signup.waba_id)
        return onboarding.connect_number(link, claim)
    except (SandboxUnreachableError, NetworkError, onboarding.ClaimRefusedError) as error:
        raise SignupFailedError(str(error)) from None

"""A first account to try things with: the embedded signup run against the sandbox."""

from gateway.settings import Settings
from models.account import Account
from models.number import Number, NumberTakenError
from models.signup_link import SignupLink, unguessable
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
    except SandboxUnreachableError as error:
        raise SignupFailedError(str(error)) from None
    link = SignupLink.open(account, unguessable("sandbox"))
    claim = onboarding.SignupClaim(signup.code, signup.phone_number_id, signup.waba_id)
    try:
        return onboarding.connect_number(link, claim)
    except NumberTakenError:
        reason = "The phone number is connected to another account."
    except (NetworkError, onboarding.SignupError) as error:
        reason = str(error)
    SignupLink.revoke(link.id)
    raise SignupFailedError(reason)

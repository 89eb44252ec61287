"""The steps of a signup after its code was exchanged, each recorded as it is finished.

A step that was carried out but not recorded, because the process died in between, is carried out
again: all of them may be. Source: Cloud API, embedded signup, server steps 2 to 6.
"""

import secrets
from collections.abc import Callable

from models.database import writing
from models.number import Number, NumberStatus
from models.signup import Signup, SignupStep
from models.signup_link import SignupLink
from networks.current import wait_for
from networks.errors import NetworkError
from networks.interface import Network, NumberProfile, Sender
from tasks import lifecycle
from tasks.signup_errors import PIN_MISMATCH_CODE, ClaimRefusedError, LinkClosedError

CONNECTED = "CONNECTED"
NEEDED_SCOPES = ("whatsapp_business_management", "whatsapp_business_messaging")

Step = Callable[[Network, SignupLink, Signup, str | None], None]


def _confirm(network: Network, _link: SignupLink, signup: Signup, _pin: str | None) -> None:
    """The token must itself open the claimed account, and the account hold the claimed number."""
    token = wait_for(network.inspect_token(signup.access_token))
    missing = [scope for scope in NEEDED_SCOPES if scope not in token.scopes]
    if not token.is_valid or missing:
        raise ClaimRefusedError(
            f"The signup did not grant what is needed: {', '.join(missing) or 'a valid token'}."
        )
    # Since the middle of 2026 the platform may leave these out; then the list below is the proof.
    if token.waba_ids is not None and signup.waba_id not in token.waba_ids:
        raise ClaimRefusedError(f"The signup did not grant the business account {signup.waba_id}.")
    profile = _find_profile(network, signup)
    signup.confirm(profile.phone_number, profile.display_name)


def _find_profile(network: Network, signup: Signup) -> NumberProfile:
    for profile in wait_for(network.list_numbers(signup.waba_id, signup.access_token)):
        if profile.phone_number_id == signup.phone_number_id:
            return profile
    raise ClaimRefusedError(
        f"The business account {signup.waba_id} has no number {signup.phone_number_id}."
    )


def _provision(_network: Network, link: SignupLink, signup: Signup, _pin: str | None) -> None:
    with writing():
        number = Number.provision(
            link.account_id,
            phone_number_id=signup.phone_number_id,
            waba_id=signup.waba_id,
            phone_number=signup.phone_number,
            display_name=signup.display_name,
            access_token=signup.access_token,
            pin=f"{secrets.randbelow(1_000_000):06d}",
        )
        signup.provision(number)


def _subscribe(network: Network, _link: SignupLink, signup: Signup, _pin: str | None) -> None:
    # Without it no callback of the account ever comes, and nothing complains.
    wait_for(network.subscribe(signup.waba_id, signup.access_token))
    signup.finish(SignupStep.SUBSCRIBED)


def _register(network: Network, _link: SignupLink, signup: Signup, pin: str | None) -> None:
    sender = _sender(signup)
    if wait_for(network.get_number(sender)).status != CONNECTED:
        _try_pin(network, sender, signup, pin)
    with writing():
        if signup.pin is not None:
            Number.get_by_id(signup.number_id).amend(sealed_pin=signup.sealed_pin)
        signup.finish(SignupStep.REGISTERED)


def _try_pin(network: Network, sender: Sender, signup: Signup, pin: str | None) -> None:
    """Register with the owner's PIN, else with the one that this number has had with us."""
    if pin is not None:
        # Kept first: if this process dies after the platform took it, it is still known.
        signup.keep_pin(pin)
    number = Number.get_by_id(signup.number_id)
    try:
        wait_for(network.register(sender, signup.pin or number.pin))
    except NetworkError as error:
        if error.code == PIN_MISMATCH_CODE:
            signup.keep_pin(None)
        raise


def _activate(network: Network, link: SignupLink, signup: Signup, _pin: str | None) -> None:
    status = wait_for(network.get_number(_sender(signup))).status
    if status != CONNECTED:
        raise ClaimRefusedError(f"The number is not ready: the platform says {status}.")
    with writing():
        number = Number.get_by_id(signup.number_id)
        if not link.use(number):
            raise LinkClosedError(SignupLink.get_by_id(link.id).why_closed() or "used")
        lifecycle.change_status(number, NumberStatus.ACTIVE)
        signup.complete()


def _sender(signup: Signup) -> Sender:
    return Sender(signup.phone_number_id, signup.access_token)


STEPS: tuple[tuple[SignupStep, Step], ...] = (
    (SignupStep.CONFIRMED, _confirm),
    (SignupStep.PROVISIONED, _provision),
    (SignupStep.SUBSCRIBED, _subscribe),
    (SignupStep.REGISTERED, _register),
    (SignupStep.ACTIVATED, _activate),
)

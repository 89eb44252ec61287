"""Connecting a number through the platform's embedded signup (specification, What the service does).

The code lives 30 seconds, so this runs in the request. All that the browser posts is a claim: the
token that the code buys must itself see the business account and the number.
"""

import secrets
from dataclasses import dataclass

from models.database import writing
from models.number import Number, NumberStatus
from models.signup_link import SignupLink
from networks.current import get_network
from networks.interface import Network, NumberProfile, Sender
from tasks import deliver, lifecycle

CONNECTED = "CONNECTED"


@dataclass(frozen=True)
class SignupClaim:
    """What the embedded signup handed to the browser."""

    code: str
    phone_number_id: str
    waba_id: str


class ClaimRefusedError(Exception):
    """The claimed number is not in the claimed business account, or did not get ready."""


class LinkSpentError(Exception):
    """Another request used the link in the meantime."""


def connect_number(link: SignupLink, claim: SignupClaim) -> Number:
    """Connect the claimed number to the link's account and activate it.

    Raises ClaimRefusedError, LinkSpentError, NumberTakenError or a class of networks.errors.
    """
    network = get_network()
    account_id = link.account_id
    Number.refuse_if_taken(account_id, claim.phone_number_id)
    token = network.exchange_code(claim.code)
    profile = _find_profile(network, claim, token)
    number = Number.provision(
        account_id,
        phone_number_id=profile.phone_number_id,
        waba_id=claim.waba_id,
        phone_number=profile.phone_number,
        display_name=profile.display_name,
        access_token=token,
        pin=f"{secrets.randbelow(1_000_000):06d}",
    )
    try:
        _make_ready(network, number)
        _activate(link, number)
    except Exception:
        number.abandon()
        raise
    deliver.wake()
    return Number.get_by_id(number.id)


def _activate(link: SignupLink, number: Number) -> None:
    with writing():
        if not link.use(number):
            raise LinkSpentError
        lifecycle.change_status(number, NumberStatus.ACTIVE)


def _find_profile(network: Network, claim: SignupClaim, token: str) -> NumberProfile:
    for profile in network.list_numbers(claim.waba_id, token):
        if profile.phone_number_id == claim.phone_number_id:
            return profile
    raise ClaimRefusedError(
        f"The business account {claim.waba_id} has no number {claim.phone_number_id}."
    )


def _make_ready(network: Network, number: Number) -> None:
    """Subscribe to the account's callbacks and register the number, then ask whether it is ready."""
    sender = Sender(number.phone_number_id, number.access_token)
    network.subscribe(number.waba_id, sender.access_token)
    if network.get_number(sender).status != CONNECTED:
        network.register(sender, number.pin)
    status = network.get_number(sender).status
    if status != CONNECTED:
        raise ClaimRefusedError(f"The number is not ready: the platform says {status}.")

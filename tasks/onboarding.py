"""Connecting a number through the platform's embedded signup (specification, What the service does).

The code lives 30 seconds, so this runs in the request. All that the browser posts is a claim: the token
that the code buys must itself see the business account and the number. The code works once, so its token
is on record (models.signup) before anything else. The same claim, posted again, carries out the other steps
again: all of them may be. Source: Cloud API, embedded signup, server steps 2 to 6.
"""

import secrets
from dataclasses import dataclass, field

from models import secret
from models.database import writing
from models.number import Number, NumberStatus
from models.signup import Signup, SignupLink
from networks.current import get_network, wait_for
from networks.exceptions import NetworkError
from networks.interface import NumberProfile, Sender
from tasks import deliver
from tasks.number_status import change_status

CONNECTED = "CONNECTED"
NEEDED_SCOPES = ("whatsapp_business_management", "whatsapp_business_messaging")

# The network's codes (Cloud API, error codes: registration), what they ask of the number's owner, and for how
# many seconds to wait.
CODE_REFUSED = "100"
PIN_MISMATCH = "133005"
_TOLD = {
    "131031": "The platform has locked the business account. Its owner must appeal at the platform.",
    "131037": "The platform has not approved the number's display name yet.",
    "131042": "The business account has a payment problem. Add a payment method at the platform first.",
    "131045": "The platform could not register the number: its certificate is not valid. Verify the"
    " number at the platform again, then start the signup again.",
    PIN_MISMATCH: "The number has two-step verification on, with a PIN that is not ours."
    " Give that PIN, or turn two-step verification off at the platform.",
    "133006": "The platform wants the phone number verified again. Verify it, then start again.",
    "133008": "Too many wrong PINs. Wait before you try again.",
    "133009": "PINs came too fast. Wait a minute before you try again.",
    "133015": "The number was deleted just now. Wait five minutes, then try again.",
    "133016": "The platform registers a number ten times in 72 hours at most. Try again later.",
}
_WAITS = {"133008": 3600, "133009": 60, "133015": 300, "133016": 3600}


class SignupError(Exception):
    """A signup that did not end in a connected number. The text tells the number's owner what to do.

    If it is none of those below, the platform does not bear the claim out, or the number cannot be connected
    as it is. ``retry_after`` is in seconds, None unless it was too much at once for the platform.
    """

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class LinkUnknownError(SignupError):
    """There is no such signup link."""


class LinkClosedError(SignupError):
    """The link leads nowhere any more. ``reason`` is ``used``, ``revoked`` or ``expired``."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This signup link is {reason}. Ask for a new one.")
        self.reason = reason


class CodeExpiredError(SignupError):
    """The code is unknown, was used, or is past its 30 seconds: the signup starts again."""


class PinMismatchError(SignupError):
    """The number has two-step verification on, with another PIN. The same claim with it goes on."""


@dataclass(frozen=True)
class SignupClaim:
    """What the embedded signup handed to the browser.

    ``pin`` is the number's own two-step PIN (6 digits), which its owner is asked for after a
    PinMismatchError.
    """

    code: str = field(repr=False)
    phone_number_id: str
    waba_id: str
    pin: str | None = field(default=None, repr=False)


def open_link(slug: str) -> SignupLink:
    """The open link with this slug, with its account. Raises LinkUnknownError, LinkClosedError."""
    link = SignupLink.find(slug)
    if link is None:
        raise LinkUnknownError(f"There is no signup link {slug}.")
    if reason := link.why_closed():
        raise LinkClosedError(reason)
    return link


def connect_number(link: SignupLink, claim: SignupClaim) -> Number:
    """Connect the claimed number to the link's account and activate it. Returns the ACTIVE number.

    Posted again after any error, the same claim goes on, and its code is not exchanged again. Raises
    SignupError, NumberTakenError, or an error of networks.exceptions that has no text for the owner.
    """
    Number.refuse_if_taken(link.account_id, claim.phone_number_id)
    try:
        number = _connect(link, claim)
    except NetworkError as error:
        if told := translate(error):
            raise told from None
        raise
    deliver.bell.ring()
    return number


def translate(error: NetworkError) -> SignupError | None:
    """What an error of the network says to the number's owner; None where it says nothing of its own.

    By ``code``: one class of networks.exceptions stands for several of these.
    """
    text = _TOLD.get(error.code)
    kind = PinMismatchError if error.code == PIN_MISMATCH else SignupError
    return kind(text, _WAITS.get(error.code)) if text else None


def _connect(link: SignupLink, claim: SignupClaim) -> Number:
    signup = Signup.find(link, claim.code) or _exchange(link, claim.code)
    sender = Sender(claim.phone_number_id, signup.access_token)
    profile = _confirm(claim, sender.access_token)
    number = Number.provision(
        link.account_id,
        phone_number_id=claim.phone_number_id,
        waba_id=claim.waba_id,
        phone_number=profile.phone_number,
        display_name=profile.display_name,
        access_token=sender.access_token,
        pin=f"{secrets.randbelow(1_000_000):06d}",
    )
    try:
        # Without it no callback of the account ever comes, and nothing complains.
        wait_for(get_network().subscribe(claim.waba_id, sender.access_token))
        _register(number, signup, sender, claim.pin)
        _activate(number, link, sender)
    except Exception:
        number.abandon()
        raise
    return Number.get_by_id(number.id)


def _exchange(link: SignupLink, code: str) -> Signup:
    """Buy the platform's token with the code."""
    try:
        token = wait_for(get_network().exchange_code(code))
    except NetworkError as error:
        if error.code != CODE_REFUSED:
            raise
        # The same claim may have been posted twice at once, and the other request was faster.
        if found := Signup.find(link, code):
            return found
        if reason := SignupLink.get_by_id(link.id).why_closed():
            raise LinkClosedError(reason) from None
        raise CodeExpiredError(
            "The code of the signup was used or is older than 30 seconds. Start the signup again."
        ) from None
    return Signup.begin(link, code, token)


def _confirm(claim: SignupClaim, access_token: str) -> NumberProfile:
    """The token must itself open the claimed account, and the account hold the claimed number."""
    token = wait_for(get_network().inspect_token(access_token))
    missing = [scope for scope in NEEDED_SCOPES if scope not in token.scopes]
    if not token.is_valid or missing:
        raise SignupError(
            f"The signup did not grant what is needed: {', '.join(missing) or 'a valid token'}."
        )
    # Since the middle of 2026 the platform may leave these out; then the list below is the proof.
    if token.waba_ids is not None and claim.waba_id not in token.waba_ids:
        raise SignupError(f"The signup did not grant the business account {claim.waba_id}.")
    for profile in wait_for(get_network().list_numbers(claim.waba_id, access_token)):
        if profile.phone_number_id == claim.phone_number_id:
            return profile
    raise SignupError(
        f"The business account {claim.waba_id} has no number {claim.phone_number_id}."
    )


def _register(number: Number, signup: Signup, sender: Sender, pin: str | None) -> None:
    """Register with the owner's PIN, else with the one that this number has had with us."""
    if signup.number_id != number.id:
        # Another number than the PIN was for, or the first.
        signup.amend(number=number.id, sealed_pin=None)
    if _status(sender) != CONNECTED:
        if pin is not None:
            # Kept first: if this process dies after the platform took it, it is still known.
            signup.amend(sealed_pin=secret.encrypt(pin))
        try:
            sealed_pin = signup.sealed_pin or number.sealed_pin
            wait_for(get_network().register(sender, secret.decrypt(sealed_pin)))
        except NetworkError as error:
            if error.code == PIN_MISMATCH:
                signup.amend(sealed_pin=None)
            raise
    if signup.sealed_pin is not None:
        number.amend(sealed_pin=signup.sealed_pin)


def _activate(number: Number, link: SignupLink, sender: Sender) -> None:
    if (status := _status(sender)) != CONNECTED:
        raise SignupError(f"The number is not ready: the platform says {status}.")
    with writing():
        if not link.use(number):
            raise LinkClosedError(SignupLink.get_by_id(link.id).why_closed() or "used")
        change_status(number, NumberStatus.ACTIVE)
        # The number itself has token and PIN.
        Signup.delete().where(Signup.link == link.id).execute()


def _status(sender: Sender) -> str:
    return wait_for(get_network().get_number(sender)).status

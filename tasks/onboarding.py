"""Connecting a number through the platform's embedded signup (specification, What the service does).

The code lives 30 seconds, so this runs in the request. All that the browser posts is a claim: the
token that the code buys must itself see the business account and the number. Each step is on record
(models.signup) before the next one begins, so the same claim, posted again, goes on where it stopped,
whatever became of the process meanwhile.
"""

from dataclasses import dataclass, field

from models.number import Number, NumberTakenError
from models.signup import Signup
from models.signup_link import SignupLink
from networks.current import get_network, wait_for
from networks.errors import NetworkError
from tasks import deliver
from tasks.signup_errors import (
    CODE_EXPIRED,
    ClaimRefusedError,
    CodeExpiredError,
    LinkClosedError,
    LinkUnknownError,
    PinMismatchError,
    SignupError,
    SignupThrottledError,
    translate,
)
from tasks.signup_steps import STEPS

__all__ = [
    "ClaimRefusedError",
    "CodeExpiredError",
    "LinkClosedError",
    "LinkUnknownError",
    "NumberTakenError",
    "PinMismatchError",
    "SignupClaim",
    "SignupError",
    "SignupThrottledError",
    "connect_number",
    "open_link",
]

CODE_REFUSED = "100"


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

    Posted again after any error, the same claim resumes at the first unfinished step, without
    exchanging its code again.

    Raises:
        ClaimRefusedError: the platform does not bear the claim out; the text says what to do.
        CodeExpiredError: the code is unknown, used or past its 30 s; the signup must start again.
        PinMismatchError: the number has a PIN of its own; the same claim with ``pin`` goes on.
        NumberTakenError: the number is connected to another account.
        LinkClosedError: the link was used or revoked in the meantime.
        SignupThrottledError: the platform wants us to wait ``retry_after`` seconds.
        NetworkError: a class of networks.errors. After NotReachedError and AmbiguousError the same
            claim may simply be posted again.
    """
    Number.refuse_if_taken(link.account_id, claim.phone_number_id)
    signup = _take_up(link, claim)
    try:
        _go_on(link, signup, claim)
    except Exception as error:
        _let_go(signup, error)
        if isinstance(error, NetworkError) and (told := translate(error)):
            raise told from None
        raise
    deliver.bell.ring()
    return Number.get_by_id(signup.number_id)


def _take_up(link: SignupLink, claim: SignupClaim) -> Signup:
    """The record of this code: found, or begun by exchanging the code."""
    signup = Signup.find(link, claim.code) or _exchange(link, claim)
    signup.claim(claim.phone_number_id, claim.waba_id)
    return signup


def _exchange(link: SignupLink, claim: SignupClaim) -> Signup:
    try:
        token = wait_for(get_network().exchange_code(claim.code))
    except NetworkError as error:
        if error.code != CODE_REFUSED:
            raise
        # The same claim may have been posted twice at once, and the other request was faster.
        if found := Signup.find(link, claim.code):
            return found
        raise CodeExpiredError(CODE_EXPIRED) from None
    return Signup.begin(
        link,
        claim.code,
        phone_number_id=claim.phone_number_id,
        waba_id=claim.waba_id,
        access_token=token,
    )


def _go_on(link: SignupLink, signup: Signup, claim: SignupClaim) -> None:
    network = get_network()
    for step, carry_out in STEPS:
        if not signup.has_finished(step):
            carry_out(network, link, signup, claim.pin)


def _let_go(signup: Signup, error: Exception) -> None:
    """Record why this try stopped, and keep no other account from the number meanwhile."""
    signup.note_error(error.code if isinstance(error, NetworkError) else type(error).__name__)
    if signup.number_id is not None:
        Number.get_by_id(signup.number_id).abandon()

"""Connects a number through the platform's embedded signup (ADR 5).

The code expires after 30 seconds, so this runs in the request. Values from the browser are only a claim:
the token must give access to the business account and the number. The code works only once, so its token
is stored (models.numbers.signup) before any other step. All other steps are idempotent, so the browser can
post the same claim again. Source: Cloud API, embedded signup, server steps 2 to 6.
"""

import logging
import secrets
from dataclasses import dataclass, field, replace

from gateway.settings import get_settings
from models.accounts import secret
from models.accounts.account import Account
from models.accounts.actor import ActorKind, acting, present_actor
from models.database import exclusively
from models.errors import ConflictError, DomainError, InvalidError, NotFoundError, RateLimitedError
from models.numbers.number import Number, NumberStatus
from models.numbers.signup import Signup, SignupLink
from networks.exceptions import NetworkError
from networks.interface import AppData, Health, NumberProfile, NumberState, ProblemKind, Sender
from networks.interface import Signup as SignupCalls
from networks.registry import get_network, offered, wait_for
from services.number_status import change_status, request_checks

logger = logging.getLogger(__name__)

# Why a number is disconnected whose identifier at the platform has another phone number now.
CHANGED = "The platform gave its identifier to another phone number."


class SignupError(DomainError):
    """A signup failed. The text tells the number's owner what to do.

    The class itself is raised if the platform does not confirm the claim, or if the number cannot be
    connected as it is. ``retry_after`` is in seconds, None unless the platform limits the retries.
    """

    code = InvalidError.code
    # The field of the claim that is wrong.
    place: str | None = None

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text, retry_after=retry_after, field=self.place)
        if retry_after is not None:
            self.code = RateLimitedError.code


class LinkUnknownError(SignupError):
    code = NotFoundError.code


class LinkClosedError(SignupError):
    """The link is closed. ``reason`` is ``used``, ``revoked`` or ``expired``."""

    code = ConflictError.code

    def __init__(self, reason: str) -> None:
        super().__init__(f"This signup link is {reason}. Ask for a new one.")
        self.reason = reason


class CodeExpiredError(SignupError):
    """The code is unknown, used, or older than 30 seconds. The signup must start again."""

    place = "/code"


class PinMismatchError(SignupError):
    """The number has two-step verification with another PIN. The same claim with that PIN continues."""

    code = ConflictError.code
    place = "/pin"


class SeveralNumbersError(SignupError):
    """The claim names no number, and its business account has several."""

    place = "/phone_number_id"


@dataclass(frozen=True)
class SignupClaim:
    """The values that the embedded signup passes to the browser.

    ``phone_number_id`` is empty if it names only the business account, as for a number that is used in the
    network's app: then the account must have exactly one number.
    ``pin`` is the number's existing two-step PIN (6 digits), which the owner enters after a
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

    The same claim can be posted again after an error. Its code is not exchanged again. Raises SignupError,
    NumberTakenError, or an error of networks.exceptions without a text for the owner.
    """
    if claim.phone_number_id:
        Number.refuse_if_taken(link.account_id, claim.phone_number_id)
    actor = present_actor.get()
    if actor.kind is not ActorKind.OPERATOR:
        # The number's owner, known by the link.
        actor = replace(actor, kind=ActorKind.SIGNUP_LINK, id=link.id, name="")
    try:
        with acting(actor):
            return _connect(link, claim)
    except NetworkError as error:
        if known_error := translate(error):
            raise known_error from None
        raise


def translate(error: NetworkError) -> SignupError | None:
    """An error of the network with its text for the number's owner. None if the code has no text.

    Selects by ``code``, because one class of networks.exceptions covers several of these errors.
    """
    problem = _network().signup_problem(error.code)
    if problem is None or problem.text is None:
        return None
    kind = PinMismatchError if problem.kind is ProblemKind.PIN else SignupError
    return kind(problem.text, problem.wait_seconds)


def _has_refused(error: NetworkError, kind: ProblemKind) -> bool:
    problem = _network().signup_problem(error.code)
    return problem is not None and problem.kind is kind


def _connect(link: SignupLink, claim: SignupClaim) -> Number:
    signup = Signup.find(link, claim.code) or _exchange(link, claim.code)
    profile = _confirm(claim, signup.access_token)
    claim = replace(claim, phone_number_id=profile.phone_number_id)
    sender = Sender(claim.phone_number_id, signup.access_token)
    number = Number.provision(
        link.account_id,
        network=get_settings().network,
        phone_number_id=claim.phone_number_id,
        waba_id=claim.waba_id,
        phone_number=profile.phone_number,
        display_name=profile.display_name,
        access_token=sender.access_token,
        pin=f"{secrets.randbelow(1_000_000):06d}",
    )
    try:
        # Without a subscription the platform sends no callbacks of the account, and reports no error.
        wait_for(_network().subscribe(claim.waba_id, sender.access_token))
        is_new = _register(number, signup, sender, claim.pin)
        _activate(number, link, claim, sender.access_token, _require_connected(sender))
    except Exception:
        number.abandon()
        raise
    if not is_new:
        _bring_app(number, sender)
    return Number.get_by_id(number.id)


@exclusively
def connect_without_signup(account: Account, network: str, phone: str) -> Number:
    """Connect a number of a network inside this process. Raises NumberTakenError."""
    number = Number.provision(
        account.id,
        network=network,
        phone_number_id=f"{network}-{phone}",
        waba_id=network,
        phone_number=phone,
        display_name=None,
        access_token=network,
        pin="000000",
    )
    change_status(number, NumberStatus.ACTIVE)
    return Number.get_by_id(number.id)


def _network() -> SignupCalls:
    return offered(SignupCalls, get_network())


def _exchange(link: SignupLink, code: str) -> Signup:
    try:
        token = wait_for(_network().exchange_code(code))
    except NetworkError as error:
        if not _has_refused(error, ProblemKind.CODE):
            raise
        # A concurrent request with the same claim may have been faster.
        if found := Signup.find(link, code):
            return found
        if reason := SignupLink.get_by_id(link.id).why_closed():
            raise LinkClosedError(reason) from None
        raise CodeExpiredError(
            "The code of the signup was used or is older than 30 seconds. Start the signup again."
        ) from None
    return Signup.begin(link, code, token)


def _confirm(claim: SignupClaim, access_token: str) -> NumberProfile:
    """Raise SignupError unless the token gives access to the claimed account and number."""
    token = wait_for(_network().inspect_token(access_token))
    missing = token.missing
    if not token.is_valid or missing:
        raise SignupError(
            f"The signup did not grant the required permissions: {', '.join(missing) or 'a valid token'}."
        )
    # Since mid-2026 the platform may omit these. The list below is then the proof.
    if token.waba_ids is not None and claim.waba_id not in token.waba_ids:
        raise SignupError(f"The signup did not grant the business account {claim.waba_id}.")
    return _claimed(claim, wait_for(_network().list_numbers(claim.waba_id, access_token)))


def _claimed(claim: SignupClaim, profiles: list[NumberProfile]) -> NumberProfile:
    """The claimed number among those of its account. Raises SignupError."""
    named = [each for each in profiles if claim.phone_number_id in {"", each.phone_number_id}]
    if len(named) == 1:
        return named[0]
    if named:
        raise SeveralNumbersError(
            f"The business account {claim.waba_id} has {len(named)} numbers, and the signup names none of"
            " them. Choose one: send phone_number_id, or start again with a new business account."
        )
    number = f"number {claim.phone_number_id}".rstrip()
    raise SignupError(f"The business account {claim.waba_id} has no {number}.")


def _bring_app(number: Number, sender: Sender) -> None:
    """Ask for contacts and history of the network's app. Only a number that is used there has them.

    The platform accepts this for a day. The number works without them, so an error ends nothing.
    """
    network = get_network()
    if not isinstance(network, AppData):
        return
    try:
        wait_for(network.request_app_data(sender))
    except NetworkError as error:
        logger.info("number %s brings no data of the app: %s", number.id, error.code)


def _register(number: Number, signup: Signup, sender: Sender, pin: str | None) -> bool:
    """Register with the owner's PIN, otherwise with the stored one. Returns False if it is registered.

    A number that is used in the network's app is.
    """
    if signup.number_id != number.id:
        # This is the first number of the signup, or another one than the PIN belongs to.
        signup.amend(number=number.id, sealed_pin=None)
    is_new = _profile(sender).state is not NumberState.CONNECTED
    if is_new:
        if pin is not None:
            # Stored first, so that the PIN is known if this process dies after the platform accepted it.
            signup.amend(sealed_pin=secret.encrypt(pin))
        try:
            sealed_pin = signup.sealed_pin or number.sealed_pin
            wait_for(_network().register(sender, secret.decrypt(sealed_pin)))
        except NetworkError as error:
            if _has_refused(error, ProblemKind.PIN):
                signup.amend(sealed_pin=None)
            raise
    if signup.sealed_pin is not None:
        number.amend(sealed_pin=secret.renew(signup.sealed_pin))
    return is_new


def _require_connected(sender: Sender) -> NumberProfile:
    if (profile := _profile(sender)).state is not NumberState.CONNECTED:
        raise SignupError(
            f"The number is not ready: its status at the platform is {profile.status}."
        )
    return profile


@exclusively
def _activate(
    number: Number, link: SignupLink, claim: SignupClaim, token: str, profile: NumberProfile
) -> None:
    if not link.use(number):
        raise LinkClosedError(SignupLink.get_by_id(link.id).why_closed() or "used")
    if other := Number.replaced_by(number, claim.phone_number_id):
        change_status(other, NumberStatus.DISCONNECTED, CHANGED)
    number.adopt(
        claim.phone_number_id,
        claim.waba_id,
        token,
        network=get_settings().network,
        phone_number=profile.phone_number or number.phone_number,
        display_name=profile.display_name,
    )
    change_status(number, NumberStatus.ACTIVE)
    request_checks(number.elsewhere())
    # The number now has the token and the PIN.
    Signup.delete().where(Signup.link == link.id).execute()


def _profile(sender: Sender) -> NumberProfile:
    return wait_for(offered(Health, get_network()).get_number(sender))

"""/connect/{slug}: the owner of a number connects it through the platform's embedded signup.

Public, designed for phones. Every response is a page for people, also errors.
"""

import logging
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Blueprint, Request, Response, request

from dashboard.pages import render
from gateway.settings import Settings, get_settings
from models.accounts.actor import SERVICE, acting
from models.numbers.number import NumberTakenError
from networks import exceptions as network
from services import onboarding
from services.onboarding import SignupClaim, SignupError

logger = logging.getLogger(__name__)

blueprint = Blueprint("connect", __name__)

SDK_PATH = "/en_US/sdk.js"
SDK_ORIGIN = "https://connect.facebook.net"
SITE = "https://facebook.com"
# Origins of the frames and requests of the platform's SDK during a login.
SITES = "https://www.facebook.com https://web.facebook.com"
FRAMES = f"{SITES} https://staticxx.facebook.com"
# Same limits as CompleteSignupRequest in the contract.
FIELDS = {
    "code": re.compile(r"[!-~]{1,2048}"),
    # Empty if the signup names only the business account.
    "phone_number_id": re.compile(r"[0-9]{0,32}"),
    "waba_id": re.compile(r"[0-9]{1,32}"),
}
PIN = re.compile(r"[0-9]{6}")
FORM_TYPE = "application/x-www-form-urlencoded"
RETRY_AFTER = {"Retry-After": "60"}


class Next(StrEnum):
    """The next step on the page. START begins again; RETRY and PIN post the same claim again."""

    NOTHING = "nothing"
    START = "start"
    RETRY = "retry"
    PIN = "pin"


@dataclass(frozen=True)
class Outcome:
    """The result of a posted signup. ``kind`` names its page in templates/connect/outcome.html.

    ``text`` is the reason, as the platform or the service gives it.
    """

    kind: str
    status: int
    next: Next = Next.NOTHING
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)


CRASHED = Outcome("crashed", 500, Next.RETRY)
BAD_PIN = Outcome("bad-pin", 422, Next.PIN)
BAD_FORM = Outcome("bad-form", 400, Next.START)
BAD_TYPE = Outcome("bad-form", 415, Next.START)
_UNREACHABLE = Outcome("unreachable", 503, Next.RETRY, headers=RETRY_AFTER)
_FIXED: dict[type[Exception], Outcome] = {
    onboarding.LinkUnknownError: Outcome("unknown", 404),
    NumberTakenError: Outcome("taken", 409, Next.START),
    onboarding.PinMismatchError: Outcome("pin", 422, Next.PIN),
    onboarding.SeveralNumbersError: Outcome("several", 422, Next.START),
    onboarding.CodeExpiredError: Outcome("code-expired", 422, Next.START),
    network.NotReachedError: _UNREACHABLE,
    network.AmbiguousError: _UNREACHABLE,
    network.ThrottledError: Outcome("throttled", 429, Next.RETRY, headers=RETRY_AFTER),
}


class BadFormError(Exception):
    """The form is not from the page, or its PIN is malformed. Then ``claim`` has the other values."""

    def __init__(self, outcome: Outcome = BAD_FORM, claim: SignupClaim | None = None) -> None:
        super().__init__()
        self.outcome, self.claim = outcome, claim


_OF_THE_NUMBER = network.NumberBannedError | network.NumberLostError | network.NumberInDoubtError


@blueprint.get("/connect/<slug>")
def invite(slug: str) -> Response:
    """The invitation page, where the platform's SDK creates the claim."""
    try:
        link = onboarding.open_link(slug)
    except SignupError as error:
        return _outcome(of_error(error), slug)
    settings = get_settings()
    return render(
        "connect/invite.html",
        slug=link.slug,
        account=link.account.name,
        settings=settings,
        **platform_of(settings),
    )


@blueprint.post("/connect/<slug>")
def connect(slug: str) -> Response:
    """Connect the claimed number at once: its code is valid for 30 seconds."""
    try:
        link = onboarding.open_link(slug)
        claim = read_claim(request)
    except SignupError as error:
        return _outcome(of_error(error), slug)
    except BadFormError as error:
        return _outcome(error.outcome, slug, error.claim)
    try:
        with acting(replace(SERVICE, address=request.remote_addr or "")):
            number = onboarding.connect_number(link, claim)
    except Exception as error:
        # Handled here instead of at the edge, because the retry form needs the claim.
        outcome = of_error(error)
        if outcome is CRASHED:
            logger.exception("a signup crashed")
        return _outcome(outcome, slug, claim)
    return render(
        "connect/connected.html",
        account=link.account.name,
        phone_number=number.phone_number,
        display_name=number.display_name,
    )


def _outcome(outcome: Outcome, slug: str, claim: SignupClaim | None = None) -> Response:
    posts_again = outcome.next in {Next.RETRY, Next.PIN}
    return render(
        "connect/outcome.html",
        outcome.status,
        headers=outcome.headers,
        outcome=outcome,
        slug=slug,
        fields={name: getattr(claim, name) for name in FIELDS} if claim and posts_again else {},
    )


def of_error(error: Exception) -> Outcome:
    """The page for an error of onboarding. Any other error is a bug."""
    if fixed := _FIXED.get(type(error)):
        return fixed
    match error:
        case onboarding.LinkClosedError():
            return Outcome(error.reason, 410)
        case onboarding.SignupError(retry_after=int(seconds)):
            # The platform states the wait, for example after too many PINs.
            return Outcome("waiting", 429, Next.RETRY, str(error), {"Retry-After": str(seconds)})
        case onboarding.SignupError():
            return Outcome("refused", 422, Next.START, str(error))
        case network.NetworkError():
            said = f"The platform says: {error.reason} (code {error.code})."
            is_blocked = isinstance(error, _OF_THE_NUMBER)
            kind, status = ("blocked", 409) if is_blocked else ("refused", 422)
            return Outcome(kind, status, Next.START, said)
    return CRASHED


def platform_of(settings: Settings) -> dict[str, Any]:
    """The platform that the settings name, for the page: the real one, or the sandbox on this machine.

    ``site`` is the origin of the window messages. ``subdomains`` accepts its subdomains too. ``sources`` are
    additions to the Content-Security-Policy. Source: Cloud API, Embedded signup, Implementation. The sandbox
    serves its own SDK with the same interface, so the page has a single code path (docs/decisions/0020).
    """
    sandbox = settings.uses_sandbox
    origin = settings.network_url if sandbox else SDK_ORIGIN
    sources = {"script-src": origin}
    if not sandbox:
        sources |= {"connect-src": SITES, "frame-src": FRAMES, "img-src": SITES}
    return {
        "sdk": origin + SDK_PATH,
        "site": settings.network_url if sandbox else SITE,
        "subdomains": not sandbox,
        "sources": sources,
    }


def read_claim(request: Request) -> SignupClaim:
    """The claim of a form, whose form is checked here, and its truth by onboarding.

    Raises BadFormError.
    """
    if request.mimetype != FORM_TYPE:
        raise BadFormError(BAD_TYPE)
    _require_text(request.get_data())
    claim = SignupClaim(**{name: _field(request, name) for name in FIELDS})
    typed = request.form.getlist("pin")
    if not typed:
        return claim
    pin = "".join(typed[0].split())
    if len(typed) > 1 or not PIN.fullmatch(pin):
        raise BadFormError(BAD_PIN, claim)
    return replace(claim, pin=pin)


def _require_text(body: bytes) -> None:
    # Werkzeug leaves bytes that are not UTF-8 escaped, so %FF would be accepted as text.
    try:
        unquote_to_bytes(body).decode()
    except UnicodeDecodeError:
        raise BadFormError from None


def _field(request: Request, name: str) -> str:
    values = request.form.getlist(name)
    if len(values) != 1 or not FIELDS[name].fullmatch(values[0]):
        raise BadFormError
    return values[0]

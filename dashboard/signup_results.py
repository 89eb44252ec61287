"""The page of each result of a posted signup: HTTP status, texts and next step."""

from dataclasses import dataclass, field
from enum import StrEnum

from models.numbers.number import NumberTakenError
from networks import exceptions as network
from services import onboarding

RETRY_AFTER_SECONDS = 60
HOUR, MINUTE = 3600, 60


class Next(StrEnum):
    """The next step on the page. START begins again; RETRY and PIN post the same claim again."""

    NOTHING = "nothing"
    START = "start"
    RETRY = "retry"
    PIN = "pin"


@dataclass(frozen=True)
class Outcome:
    """``kind`` names the page for tests and styles. ``paragraphs`` are plain text."""

    kind: str
    status: int
    title: str
    paragraphs: tuple[str, ...]
    next: Next = Next.NOTHING
    headers: dict[str, str] = field(default_factory=dict)


ASK_FOR_NEW = "Ask the sender for a new one."
RESUMES = "Nothing is lost: a new try continues where this one stopped."
NOT_CONNECTED = "Your number is not connected yet, and nothing else has changed."

UNKNOWN = Outcome(
    "unknown",
    404,
    "This link does not work",
    ("Perhaps a part of the address is missing. Open the link again from the message it came in.",),
)
CLOSED = {
    "used": Outcome(
        "used",
        410,
        "This link has been used",
        (
            "A signup link connects one number, once.",
            "If it was you who used it, your number is connected and there is nothing more to do.",
            "To connect another number, ask the sender of the link for a new one.",
        ),
    ),
    "expired": Outcome(
        "expired",
        410,
        "This link has expired",
        ("A signup link is good for seven days. " + ASK_FOR_NEW,),
    ),
    "revoked": Outcome(
        "revoked",
        410,
        "This link was revoked",
        ("Its sender revoked it. If you did not expect that, ask them.",),
    ),
}
TAKEN = Outcome(
    "taken",
    409,
    "This number is connected elsewhere",
    (
        "Another account has connected this phone number already, and a number can be connected only once.",
        "Disconnect it there first, or start again with another number.",
    ),
    Next.START,
)
PIN_ASKED = Outcome(
    "pin",
    422,
    "Your number has a PIN",
    (
        "Two-step verification is on. Enter the PIN of six digits that you chose when you turned it on.",
        "You forgot it? Turn two-step verification off in WhatsApp Manager, then start again.",
    ),
    Next.PIN,
)
BAD_PIN = Outcome("bad-pin", 422, "A PIN has six digits", ("Please enter it again.",), Next.PIN)
CODE_EXPIRED = Outcome(
    "code-expired",
    422,
    "That took a little too long",
    (
        "The platform's confirmation is good for 30 seconds only, and works only once. "
        + NOT_CONNECTED,
        "Start again; it is quicker the second time.",
    ),
    Next.START,
)
UNREACHABLE = Outcome(
    "unreachable",
    503,
    "The platform cannot be reached",
    ("WhatsApp did not respond just now. " + RESUMES,),
    Next.RETRY,
    {"Retry-After": str(RETRY_AFTER_SECONDS)},
)
THROTTLED = Outcome(
    "throttled",
    429,
    "Too much at once",
    ("WhatsApp asks us to wait. Try again in about a minute. " + RESUMES,),
    Next.RETRY,
    {"Retry-After": str(RETRY_AFTER_SECONDS)},
)
CRASHED = Outcome(
    "crashed",
    500,
    "Something went wrong on our side",
    (RESUMES,),
    Next.RETRY,
)
BAD_FORM = Outcome(
    "bad-form",
    400,
    "This form is invalid",
    ("It was changed on its way to us. Nothing was done.",),
    Next.START,
)


def refused(text: str) -> Outcome:
    """The platform does not confirm the claim, or the number's owner must do something first."""
    return Outcome(
        "refused", 422, "Your number could not be connected", (text, NOT_CONNECTED), Next.START
    )


def blocked(error: network.NetworkError) -> Outcome:
    """The platform refuses the number itself."""
    return Outcome(
        "blocked",
        409,
        "The platform refuses this number",
        (
            "The number or its business account is blocked, or lost its permissions, at WhatsApp.",
            "WhatsApp Manager shows the reason.",
            _said(error),
        ),
        Next.START,
    )


def waiting(text: str, seconds: int) -> Outcome:
    """The platform states the wait, for example after too many PINs."""
    hours = round(seconds / HOUR)
    when = f"{hours} h" if hours else f"{max(1, round(seconds / MINUTE))} min"
    return Outcome(
        "waiting",
        429,
        f"Please wait: {when}",
        (text, RESUMES),
        Next.RETRY,
        {"Retry-After": str(seconds)},
    )


_FIXED: dict[type[Exception], Outcome] = {
    onboarding.LinkUnknownError: UNKNOWN,
    NumberTakenError: TAKEN,
    onboarding.PinMismatchError: PIN_ASKED,
    onboarding.CodeExpiredError: CODE_EXPIRED,
    network.NotReachedError: UNREACHABLE,
    network.AmbiguousError: UNREACHABLE,
    network.ThrottledError: THROTTLED,
}
_OF_THE_NUMBER = network.NumberBannedError | network.NumberLostError | network.NumberInDoubtError


def of_error(error: Exception) -> Outcome:
    """The page for an error of onboarding. Any other error is a bug."""
    if fixed := _FIXED.get(type(error)):
        return fixed
    match error:
        case onboarding.LinkClosedError():
            return CLOSED[error.reason]
        case onboarding.SignupError(retry_after=int(seconds)):
            return waiting(str(error), seconds)
        case onboarding.SignupError():
            return refused(str(error))
        case network.NetworkError():
            return blocked(error) if isinstance(error, _OF_THE_NUMBER) else refused(_said(error))
    return CRASHED


def _said(error: network.NetworkError) -> str:
    return f"The platform says: {error.reason} (code {error.code})."

"""The result of a posted signup: HTTP status, next step, and its page in templates/connect/outcome.html."""

from dataclasses import dataclass, field
from enum import StrEnum

from models.numbers.number import NumberTakenError
from networks import exceptions as network
from services import onboarding

RETRY_AFTER = {"Retry-After": "60"}


class Next(StrEnum):
    """The next step on the page. START begins again; RETRY and PIN post the same claim again."""

    NOTHING = "nothing"
    START = "start"
    RETRY = "retry"
    PIN = "pin"


@dataclass(frozen=True)
class Outcome:
    """``kind`` names the page. ``text`` is the reason, as the platform or the service gives it."""

    kind: str
    status: int
    next: Next = Next.NOTHING
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)


BAD_PIN = Outcome("bad-pin", 422, Next.PIN)
BAD_FORM = Outcome("bad-form", 400, Next.START)
_UNREACHABLE = Outcome("unreachable", 503, Next.RETRY, headers=RETRY_AFTER)
_FIXED: dict[type[Exception], Outcome] = {
    onboarding.LinkUnknownError: Outcome("unknown", 404),
    NumberTakenError: Outcome("taken", 409, Next.START),
    onboarding.PinMismatchError: Outcome("pin", 422, Next.PIN),
    onboarding.CodeExpiredError: Outcome("code-expired", 422, Next.START),
    network.NotReachedError: _UNREACHABLE,
    network.AmbiguousError: _UNREACHABLE,
    network.ThrottledError: Outcome("throttled", 429, Next.RETRY, headers=RETRY_AFTER),
}
_OF_THE_NUMBER = network.NumberBannedError | network.NumberLostError | network.NumberInDoubtError


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
    return Outcome("crashed", 500, Next.RETRY)

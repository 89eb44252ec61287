"""How a signup can end without a number, and what the network's codes mean on the way.

Every class carries a text for the number's owner: what is wrong, and what to do. What is not here
stays a class of networks.errors: after NotReachedError or AmbiguousError the same claim, posted again,
goes on where it stopped.
"""

from networks.errors import NetworkError

MINUTE = 60
HOUR = 60 * MINUTE


class SignupError(Exception):
    """A signup that did not end in a connected number. The text is for the number's owner."""


class LinkUnknownError(SignupError):
    """There is no such signup link."""


class LinkClosedError(SignupError):
    """The link leads nowhere any more. ``reason`` is ``used``, ``revoked`` or ``expired``."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This signup link is {reason}. Ask for a new one.")
        self.reason = reason


class ClaimRefusedError(SignupError):
    """The platform does not bear the claim out, or the number cannot be connected as it is."""


class CodeExpiredError(SignupError):
    """The code is unknown, was used, or is past its 30 seconds: the signup starts again."""


class PinMismatchError(SignupError):
    """The number has two-step verification on, with another PIN. The same claim with it goes on."""


class SignupThrottledError(SignupError):
    """Too much at once for the platform. ``retry_after`` is in seconds."""

    def __init__(self, text: str, retry_after: int) -> None:
        super().__init__(text)
        self.retry_after = retry_after


CODE_EXPIRED = (
    "The code of the signup was used or is older than 30 seconds. Start the signup again."
)
PIN_MISMATCH_CODE = "133005"

# Codes that ask something of the number's owner (Cloud API, error codes: registration).
_REFUSALS = {
    "131031": "The platform has locked the business account. Its owner must appeal at the platform.",
    "131037": "The platform has not approved the number's display name yet.",
    "131042": "The business account has a payment problem. Add a payment method at the platform first.",
    "131045": "The platform could not register the number: its certificate is not valid. Verify the"
    " number at the platform again, then start the signup again.",
    "133006": "The platform wants the phone number verified again. Verify it, then start again.",
}
_THROTTLES = {
    "133008": ("Too many wrong PINs. Wait before you try again.", HOUR),
    "133009": ("PINs came too fast. Wait a minute before you try again.", MINUTE),
    "133015": ("The number was deleted just now. Wait five minutes, then try again.", 5 * MINUTE),
    "133016": (
        "The platform registers a number ten times in 72 hours at most. Try again later.",
        HOUR,
    ),
}


def translate(error: NetworkError) -> SignupError | None:
    """What an error of the network says to the number's owner; None where it says nothing of its own.

    By ``code``: one class of networks.errors stands for several of these.
    """
    if error.code == PIN_MISMATCH_CODE:
        return PinMismatchError(
            "The number has two-step verification on, with a PIN that is not ours."
            " Give that PIN, or turn two-step verification off at the platform."
        )
    if error.code in _THROTTLES:
        return SignupThrottledError(*_THROTTLES[error.code])
    return ClaimRefusedError(_REFUSALS[error.code]) if error.code in _REFUSALS else None

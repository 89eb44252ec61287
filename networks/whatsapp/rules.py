"""The platform's rules that need no call: the meanings of its codes, reasons and files.

Source of the problems of signups: Cloud API, error codes: registration.
"""

from collections.abc import Mapping

from networks.exceptions import NetworkError
from networks.interface import Halt, ProblemKind, SignupProblem
from networks.whatsapp import error_codes, media, numbers, template_check

_TEXTS = {
    "131031": "The platform has locked the business account. Its owner must appeal at the platform.",
    "131037": "The platform has not approved the number's display name yet.",
    "131042": "The business account has a payment problem. Add a payment method at the platform first.",
    "131045": "The platform could not register the number: its certificate is not valid. Verify the"
    " number at the platform again, then start the signup again.",
    "133005": "The number has two-step verification with another PIN."
    " Enter that PIN, or disable two-step verification at the platform.",
    "133006": "The platform requires the phone number to be verified again. Verify it, then start again.",
    "133008": "Too many wrong PINs. Wait before you try again.",
    "133009": "PINs were entered too fast. Wait a minute before you try again.",
    "133015": "The number was deleted a moment ago. Wait five minutes, then try again.",
    "133016": "The platform registers a number at most ten times in 72 hours. Try again later.",
}
_WAITS = {"133008": 3600, "133009": 60, "133015": 300, "133016": 3600}
_KINDS = {"100": ProblemKind.CODE, "133005": ProblemKind.PIN}
SIGNUP_PROBLEMS = {
    code: SignupProblem(_TEXTS.get(code), _WAITS.get(code), _KINDS.get(code))
    for code in _TEXTS | _KINDS
}


class Rules:
    """The part of Network and of the capabilities that needs no connection and no setting."""

    files = media.FILES
    sample_files = media.SAMPLE_FILES
    # The customer service window of the Cloud API.
    service_window_ms = 24 * 60 * 60_000
    sample_error = ("131026", "Message undeliverable")
    violation = numbers.VIOLATION
    explanations: Mapping[str, str] = error_codes.EXPLANATIONS
    explain = staticmethod(error_codes.explain)
    opt_out: str | None = error_codes.OPTED_OUT
    template_differs = error_codes.TEMPLATE_DIFFERS
    passing_refusals = error_codes.PASSING_REFUSALS
    halts: Mapping[str, Halt] = error_codes.HALTS
    pair_limits = error_codes.PAIR_LIMITS
    low_quality = numbers.LOW_QUALITY
    throughputs: Mapping[str, int] = numbers.THROUGHPUTS
    usual_throughput = numbers.USUAL_THROUGHPUT
    people_a_day = staticmethod(numbers.people_a_day)
    in_words = staticmethod(numbers.in_words)
    check_template = staticmethod(template_check.check)
    signup_problem = staticmethod(SIGNUP_PROBLEMS.get)
    media_of = staticmethod(media.media_of)

    def classify(self, code: str, reason: str) -> NetworkError | None:
        """The exception for an error code of the platform."""
        return error_codes.classify(int(code), reason) if code.isdecimal() else None

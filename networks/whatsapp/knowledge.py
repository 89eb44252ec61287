"""What the platform's codes, reasons and files mean. Makes no calls."""

from typing import Any

from networks.exceptions import NetworkError
from networks.interface import SignupProblem, TemplateDefinition
from networks.whatsapp import (
    error_codes,
    media_types,
    notices,
    reasons,
    signup_errors,
    template_check,
)
from networks.whatsapp.classify import classify


class Knowledge:
    """The part of networks.interface.Network that needs no connection and no setting."""

    files = media_types.FILES
    # The customer service window of the Cloud API.
    service_window_ms = 24 * 60 * 60_000
    sample_error = ("131026", "Message undeliverable")
    violation = notices.VIOLATION

    def classify(self, code: str, reason: str) -> NetworkError | None:
        """The exception for an error code of the platform."""
        return classify(int(code), reason) if code.isdecimal() else None

    def is_opt_out(self, code: str) -> bool:
        """The code of an opt-out."""
        return code == error_codes.OPTED_OUT

    def explanation(self, code: str) -> str:
        """The texts of the table of codes."""
        return error_codes.explanation(code)

    def codes_explained_by(self, words: str) -> list[str]:
        """A search in the table of codes."""
        return error_codes.codes_explained_by(words)

    def in_words(self, reason: str) -> str:
        """The platform's names of reasons."""
        return reasons.in_words(reason)

    def check_template(self, template: TemplateDefinition, content: dict[str, Any]) -> None:
        """The rules of the platform."""
        template_check.check(template, content)

    def signup_problem(self, code: str) -> SignupProblem | None:
        """A problem of the table."""
        return signup_errors.PROBLEMS.get(code)

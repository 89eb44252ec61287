"""The form that the signup page posts, with the values that the platform gave the browser.

All values are a claim. This module checks their form; onboarding checks their truth.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from flask import Request

from services.onboarding import SignupClaim

# Same limits as CompleteSignupRequest in the contract.
FIELDS = {
    "code": re.compile(r"[!-~]{1,2048}"),
    "phone_number_id": re.compile(r"[0-9]{1,32}"),
    "waba_id": re.compile(r"[0-9]{1,32}"),
}
PIN = re.compile(r"[0-9]{6}")
FORM_TYPE = "application/x-www-form-urlencoded"


class BadFormError(Exception):
    """The form is not from the page. ``status`` is the HTTP status of the response."""

    def __init__(self, status: int = 400) -> None:
        super().__init__(status)
        self.status = status


class BadPinError(Exception):
    """The PIN does not have six digits. ``claim`` has the other values."""

    def __init__(self, claim: SignupClaim) -> None:
        super().__init__()
        self.claim = claim


def read_claim(request: Request) -> SignupClaim:
    """The claim of a form. Raises BadFormError or BadPinError."""
    if request.mimetype != FORM_TYPE:
        raise BadFormError(415)
    _require_text(request.get_data())
    claim = SignupClaim(**{name: _field(request, name) for name in FIELDS})
    typed = request.form.getlist("pin")
    if not typed:
        return claim
    pin = "".join(typed[0].split())
    if len(typed) > 1 or not PIN.fullmatch(pin):
        raise BadPinError(claim)
    return SignupClaim(claim.code, claim.phone_number_id, claim.waba_id, pin=pin)


def as_fields(claim: SignupClaim) -> Mapping[str, str]:
    """The same claim as hidden fields, to be posted again."""
    return {name: getattr(claim, name) for name in FIELDS}


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

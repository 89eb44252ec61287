"""The errors of a signup through the API."""

import pytest

from handlers.signup import TAKEN, complete_signup
from models.accounts.account import Account
from models.errors import ConflictError, DomainError
from models.numbers.number import Number
from models.numbers.signup import SignupLink
from networks.exceptions import (
    AmbiguousError,
    ErrorDetails,
    NetworkError,
    RefusedError,
    ThrottledError,
)
from services import onboarding


def test_a_number_of_another_account_is_a_conflict_that_says_what_to_do(number: Number) -> None:
    link = SignupLink.open(Account.open("Rival", "pro"), "rival")
    claim = {"code": "c", "phone_number_id": number.phone_number_id, "waba_id": number.waba_id}
    with pytest.raises(ConflictError, match=TAKEN):
        complete_signup(link.slug, claim)


@pytest.mark.parametrize("kind", [RefusedError, ThrottledError, AmbiguousError])
def test_an_error_of_the_network_has_its_words(
    number: Number, monkeypatch: pytest.MonkeyPatch, kind: type[NetworkError]
) -> None:
    def fail(*_: object) -> None:
        error = kind("100", "Invalid parameter")
        error.details = ErrorDetails(
            message="Verify the number first.", trace_id="A1", retry_after=7
        )
        raise error

    monkeypatch.setattr(onboarding, "connect_number", fail)
    link = SignupLink.open(Account.get_by_id(number.account_id), "acme")
    payload = {"code": "c", "phone_number_id": "1", "waba_id": "2"}
    with pytest.raises(DomainError) as caught:
        complete_signup(link.slug, payload)
    assert caught.value.details == {
        "networkCode": 100,
        "networkMessage": "Verify the number first.",
        "networkTraceId": "A1",
    }
    assert caught.value.retry_after == (7 if kind is ThrottledError else None)

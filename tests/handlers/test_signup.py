"""The errors of a signup through the API."""

import pytest

from handlers.signup import TAKEN, complete_signup
from models.accounts.account import Account
from models.errors import ConflictError
from models.numbers.number import Number
from models.numbers.signup import SignupLink


def test_a_number_of_another_account_is_a_conflict_that_says_what_to_do(number: Number) -> None:
    link = SignupLink.open(Account.open("Rival", "pro"), "rival")
    claim = {"code": "c", "phone_number_id": number.phone_number_id, "waba_id": number.waba_id}
    with pytest.raises(ConflictError, match=TAKEN):
        complete_signup(link.slug, claim)

"""The posted form is validated before it is used."""

from urllib.parse import urlencode

import pytest
from flask import Flask, Request, request

from dashboard.connect import FORM_TYPE, BadFormError, read_claim
from services.onboarding import SignupClaim

GOOD = {"code": "AQcode", "phone_number_id": "106", "waba_id": "524"}
Fields = dict[str, str] | list[tuple[str, str]]


def _read(body: bytes, content_type: str = FORM_TYPE) -> SignupClaim:
    with Flask("test").test_request_context(method="POST", data=body, content_type=content_type):
        given: Request = request
        return read_claim(given)


def _form(fields: Fields) -> bytes:
    return urlencode(fields).encode()


def test_a_form_is_a_claim() -> None:
    claim = _read(_form(GOOD))
    assert (claim.code, claim.phone_number_id, claim.waba_id) == ("AQcode", "106", "524")
    assert claim.pin is None


@pytest.mark.parametrize("typed", ["123456", " 123456", "123 456"])
def test_a_pin_is_read_as_people_type_it(typed: str) -> None:
    assert _read(_form(GOOD | {"pin": typed})).pin == "123456"


@pytest.mark.parametrize("typed", ["", "12345", "1234567", "12345a", "\u0661" * 6])
def test_a_malformed_pin_is_requested_again_and_the_claim_is_kept(typed: str) -> None:
    with pytest.raises(BadFormError) as caught:
        _read(_form(GOOD | {"pin": typed}))
    assert caught.value.outcome.next == "pin"
    assert caught.value.claim == SignupClaim("AQcode", "106", "524")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"code": "AQcode", "phone_number_id": "106"},
        GOOD | {"code": ""},
        GOOD | {"code": "x" * 2049},
        GOOD | {"code": "two words"},
        GOOD | {"code": "ümlaut"},
        GOOD | {"phone_number_id": "1" * 33},
        GOOD | {"phone_number_id": "106/../me"},
        GOOD | {"waba_id": "-1"},
        GOOD | {"waba_id": "\u0661"},
        [*GOOD.items(), ("code", "another")],
    ],
)
def test_a_form_that_the_page_would_not_post_is_refused(fields: Fields) -> None:
    with pytest.raises(BadFormError) as caught:
        _read(_form(fields))
    assert caught.value.outcome.status == 400


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(BadFormError):
        _read(b"code=%ff&phone_number_id=1&waba_id=2")
    with pytest.raises(BadFormError):
        _read(_form(GOOD).replace(b"AQcode", b"\xff"))


@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data", "text/plain"])
def test_another_kind_of_body_is_refused(content_type: str) -> None:
    with pytest.raises(BadFormError) as caught:
        _read(_form(GOOD), content_type)
    assert caught.value.outcome.status == 415

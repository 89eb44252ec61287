"""Authentication and API keys: who may make requests."""

import re

import pytest

from contract_tests.conformance.exchange import Api, Contract
from contract_tests.conformance.operations import PROTECTED, PUBLIC, Operation, name_of
from contract_tests.harness import Customer, Gateway

KEY = re.compile(r"mk_live_[A-Za-z0-9_-]{43}", re.ASCII)


def test_a_key_is_mk_live_and_43_characters(customer: Customer, other_customer: Customer) -> None:
    """Bearer mk_live_<43 characters>."""
    assert KEY.fullmatch(customer.key)
    assert KEY.fullmatch(other_customer.key)
    assert customer.key != other_customer.key


def test_a_key_opens_the_api(api: Api) -> None:
    """Every endpoint requires the header Authorization: Bearer <API_KEY>."""
    api.get("/numbers")


def test_a_key_is_displayed_only_when_it_is_created(gateway: Gateway, customer: Customer) -> None:
    """The full key is displayed only once, at creation."""
    listed = [key for key in gateway.cli("keys", "list") if key["accountId"] == customer.account_id]
    assert listed
    assert all("key" not in key for key in listed)
    assert customer.key.removeprefix("mk_live_") not in str(listed)


@pytest.mark.parametrize("operation", PROTECTED, ids=name_of)
def test_no_operation_works_without_a_key(anyone: Api, operation: Operation) -> None:
    """A missing [...] key yields 401 UNAUTHORIZED."""
    body: object = {} if operation.has_body else None
    anyone.call(operation.method, operation.filled(), 401, json=body)


@pytest.mark.parametrize("operation", PROTECTED, ids=name_of)
def test_no_operation_works_with_an_invalid_key(
    api: Api, contract: Contract, operation: Operation
) -> None:
    """A missing, invalid [...] key yields 401 UNAUTHORIZED."""
    stranger = Api(api.base, "mk_live_" + "A" * 43, contract)
    body: object = {} if operation.has_body else None
    stranger.call(operation.method, operation.filled(), 401, json=body)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "{key}",
        "Basic {key}",
        "Token {key}",
        "Bearer {key}x",
        "Bearer {short}",
        "Bearer {flipped}",
        "Bearer {key}, Bearer {key}",
        "Bearer \u00e9",
    ],
)
def test_a_key_in_another_form_is_invalid(api: Api, anyone: Api, value: str) -> None:
    """A missing, invalid [...] key yields 401 UNAUTHORIZED."""
    key = api.key or ""
    given = value.format(key=key, short=key[:-1], flipped=key.swapcase())
    headers = {"Authorization": given.encode("latin-1")}
    anyone.call("GET", "/numbers", 401, headers=headers)


def test_the_scheme_name_is_case_insensitive(api: Api, anyone: Api) -> None:
    """HTTP on the header Authorization."""
    anyone.call("GET", "/numbers", 200, headers={"Authorization": f"bearer {api.key}"}, fits=False)


def test_a_revoked_key_is_void_at_once(
    gateway: Gateway, fresh: Customer, contract: Contract
) -> None:
    """A missing, invalid or revoked key yields 401 UNAUTHORIZED."""
    made = gateway.cli("keys", "create", fresh.account_id, "--name", "second")
    second = Api(gateway.api, made["key"], contract)
    second.get("/numbers")
    gateway.cli("keys", "revoke", made["id"])
    second.get("/numbers", 401)
    # The account's other key still works.
    Api(gateway.api, fresh.key, contract).get("/numbers")


def test_only_the_signup_routes_are_public() -> None:
    """Every endpoint requires the header [...] except the public signup link routes."""
    assert {operation.id for operation in PUBLIC} == {"getSignupLink", "completeSignup"}


@pytest.mark.parametrize("operation", PUBLIC, ids=name_of)
def test_the_signup_routes_need_no_key(anyone: Api, operation: Operation) -> None:
    """Its routes are public (no API key)."""
    body = {"code": "x", "phone_number_id": "1", "waba_id": "1"} if operation.has_body else None
    anyone.call(operation.method, operation.filled(), 404, json=body)

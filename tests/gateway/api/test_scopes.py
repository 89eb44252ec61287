"""API keys with scopes, with numbers, and with an end: what each operation allows them."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.api import contract
from gateway.api.checks import _check_key
from gateway.api.operations import Operation, of_contract
from gateway.http.admission import identify
from handlers import contacts, events, messages, numbers, usage
from models.accounts.account import Account, ApiKey
from models.accounts.audit import Audit
from models.accounts.scope import Scope, present_numbers
from models.errors import DomainError, ForbiddenError
from models.numbers.number import Number
from services import accounts
from tests import factories
from tests.asgi import content_of
from tests.conftest import Clock

_FOUND = {
    operation.name: operation
    for methods in of_contract(contract.load()).values()
    for operation in methods.values()
    if not operation.public
}
# In one order: methods are a set.
OPERATIONS = {name: _FOUND[name] for name in sorted(_FOUND)}
ACCOUNT_WIDE = {"webhooks", "deliveries", "suppressions", "audit"}


@pytest.fixture
def other(account: Account) -> Number:
    """A second number of the account, which the key may not reach."""
    return factories.active_number(account, "1002", phone_number="15550002222")


@pytest.fixture
def limited(number: Number) -> Iterator[None]:
    """The request has a key that is limited to the first number."""
    token = present_numbers.set(frozenset([number.id]))
    yield
    present_numbers.reset(token)


def _key(account: Account, **limits: Any) -> ApiKey:
    return accounts.create_key(account, "limited", **limits)[0]


def test_every_scope_belongs_to_an_operation_and_every_operation_has_one() -> None:
    assert {operation.scope for operation in OPERATIONS.values()} == {str(each) for each in Scope}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_needs_its_scope_and_no_other(account: Account, operation: Operation) -> None:
    _check_key(_key(account, scopes=[operation.scope]), operation)
    others = [str(each) for each in Scope if each != operation.scope]
    with pytest.raises(ForbiddenError) as caught:
        _check_key(_key(account, scopes=others), operation)
    assert caught.value.details == {"scope": operation.scope}
    _check_key(_key(account), operation)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_key_of_numbers_reaches_nothing_of_the_whole_account(
    account: Account, number: Number, operation: Operation
) -> None:
    key = _key(account, number_ids=[number.id])
    tag = next(
        each["tags"][0]
        for item in contract.load()["paths"].values()
        for each in item.values()
        if isinstance(each, dict) and each.get("operationId") == operation.name
    )
    assert operation.account_wide == (tag in ACCOUNT_WIDE)
    if operation.account_wide:
        with pytest.raises(ForbiddenError):
            _check_key(key, operation)
        return
    _check_key(key, operation)
    assert present_numbers.get() == frozenset([number.id])
    _check_key(_key(account), operation)
    assert present_numbers.get() is None


def test_an_expired_key_is_refused(account: Account, clock: Clock) -> None:
    row, key = accounts.create_key(account, "short", expires_at=clock.at + 1)
    assert identify(key, None, clock.at).key == row
    late = identify(key, None, clock.at + 1)
    assert (late.key, late.account, late.expired_at) == (None, None, clock.at + 1)
    assert ApiKey.void_among([row.id]) == set()
    clock.advance(milliseconds=1)
    assert ApiKey.void_among([row.id]) == {row.id}


def test_the_audit_log_has_the_limits_of_a_new_key(account: Account, number: Number) -> None:
    _key(account, scopes=[Scope.USAGE_READ], number_ids=[number.id], expires_at=0)
    [row] = Audit.select().where(Audit.action == "key.created")
    assert json.loads(row.after_json) == {
        "name": "limited",
        "scopes": ["usage:read"],
        "numberIds": [number.id],
        "expiresAt": "1970-01-01T00:00:00.000Z",
    }


@pytest.mark.usefixtures("limited")
def test_lists_have_only_the_number_of_the_key(
    account: Account, number: Number, other: Number
) -> None:
    for each in (number, other):
        factories.outbound(each)
        factories.event(account, number_id=each.id)
    user = account.id
    assert [each["id"] for each in numbers.list_numbers(user, 20, 0)["data"]] == [number.id]
    for listed in (
        contacts.list_contacts(user, 20, 0)["data"],
        json.loads(content_of(messages.list_messages(user, 20, 0)))["data"],
    ):
        assert [each["numberId"] for each in listed] == [number.id]
    assert len(json.loads(content_of(events.list_events(user, 20)))["data"]) == 1
    for row in usage.list_usage(user, 20, 0)["data"]:
        assert row["numberId"] == number.id


@pytest.mark.usefixtures("limited")
def test_rows_of_other_numbers_are_forbidden(account: Account, other: Number) -> None:
    message = factories.outbound(other)
    user = account.id
    reads: list[Callable[[], object]] = [
        lambda: numbers.get_number(user, other.id),
        lambda: messages.get_message(user, message.id),
        lambda: contacts.get_contact(user, str(message.contact_id)),
        lambda: contacts.delete_contact(user, str(message.contact_id)),
        lambda: contacts.list_contacts(user, 20, 0, number_id=other.id),
        lambda: messages.list_messages(user, 20, 0, number_id=other.id),
        lambda: events.list_events(user, 20, number_id=other.id),
        lambda: usage.list_usage(user, 20, 0, number_id=other.id),
        lambda: usage.export_usage(user, number_id=other.id),
    ]
    for read in reads:
        with pytest.raises(ForbiddenError):
            read()


def test_a_key_of_two_numbers_names_one_of_them_to_list(
    account: Account, number: Number, other: Number
) -> None:
    token = present_numbers.set(frozenset([number.id, other.id]))
    try:
        with pytest.raises(DomainError) as caught:
            messages.list_messages(account.id, 20, 0)
        assert caught.value.details == {"field": "/numberId"}
        messages.list_messages(account.id, 20, 0, number_id=other.id)
        assert len(numbers.list_numbers(account.id, 20, 0)["data"]) == 2
    finally:
        present_numbers.reset(token)

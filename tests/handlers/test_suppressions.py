"""GET, POST and DELETE /suppressions, and their lists as CSV."""

import asyncio
from typing import Any

import pytest

from handlers import suppressions as handlers
from models.accounts.account import Account, ConsentScope
from models.errors import ForbiddenError, InvalidError, NotFoundError
from models.messages.contact import Contact
from models.messages.erasure import Erasure
from models.numbers.number import Number
from tests import factories
from tests.asgi import content_of
from tests.forms import form_with

PHONE, ID = "15551234567", "US.1001"


def add(account: Account, person: str, **more: str) -> tuple[dict[str, Any], int]:
    return handlers.create_suppression(account.id, {"person": person} | more)


def listed(account: Account, limit: int = 20, offset: int = 0, **wanted: str) -> list[Any]:
    page = handlers.list_suppressions(account.id, limit, offset, **wanted)
    assert page["pagination"]["total"] >= len(page["data"])
    return [each["person"] for each in page["data"]]


def test_a_suppression_is_created_once_and_deleted(account: Account) -> None:
    made, status = add(account, PHONE, reason="asked by phone")
    assert (status, made["source"], made["reason"]) == (201, "api", "asked by phone")
    assert add(account, PHONE, reason="again") == (made, 200)
    assert handlers.delete_suppression(account.id, made["id"]).status_code == 204
    assert listed(account) == []
    assert handlers.delete_suppression(account.id, made["id"]).status_code == 204


def test_the_list_has_the_newest_first_and_only_those_of_the_account(account: Account) -> None:
    other = Account.open("Other", "pro")
    made, _ = add(other, PHONE)
    for person in (PHONE, ID):
        add(account, person)
    assert listed(account) == [ID, PHONE]
    assert listed(account, 1, 1) == [PHONE]
    assert listed(account, person=ID) == [ID]
    assert listed(account, person="US.9") == []
    with pytest.raises(ForbiddenError):
        handlers.delete_suppression(account.id, made["id"])
    with pytest.raises(NotFoundError):
        handlers.delete_suppression(account.id, "sup_none")


def test_the_list_has_those_of_a_number(account: Account, number: Number) -> None:
    account.amend(consent_scope=ConsentScope.NUMBER)
    add(account, PHONE)
    made, _ = add(account, ID, numberId=number.id)
    assert made["numberId"] == number.id
    assert listed(account, number_id=number.id) == [ID]
    # From now on it holds for all numbers.
    account.amend(consent_scope=ConsentScope.ACCOUNT)
    again = handlers.list_suppressions(account.id, 20, 0, person=ID)["data"]
    assert again == [made | {"numberId": None}]
    assert listed(account) == [ID, PHONE]


def test_an_erased_person_is_found_by_the_identifier_only(account: Account, number: Number) -> None:
    add(account, PHONE)
    Erasure.begin(factories.contact(number, phone=PHONE))
    assert listed(account) == [None]
    assert listed(account, person=PHONE) == [None]
    [made] = handlers.list_suppressions(account.id, 20, 0)["data"]
    handlers.delete_suppression(account.id, made["id"])
    assert not factories.contact(number, phone=PHONE).is_out


def test_a_file_is_imported_and_exported(account: Account, number: Number) -> None:
    contact = factories.contact(number, phone=PHONE)
    form = form_with(f"person\n{PHONE}\n{ID}\n{PHONE}\n".encode())
    result = asyncio.run(handlers.import_suppressions(account.id, form))
    assert result == {"rows": 3, "added": 2, "known": 1}
    assert Contact.get_by_id(contact.id).is_out
    response = handlers.export_suppressions(account.id)
    assert response.media_type == "text/csv"
    _, *lines = content_of(response).decode().splitlines()
    # An import stores people in the order of their digests.
    assert {line.rpartition(",")[0] for line in lines} == {f"{PHONE},,,import", f"{ID},,,import"}


def test_a_form_without_the_file_is_refused(account: Account) -> None:
    with pytest.raises(InvalidError):
        asyncio.run(handlers.import_suppressions(account.id, form_with(b"person", "list")))

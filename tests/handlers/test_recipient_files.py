"""Uploads of recipients over the API: the object has what the file was and what is wrong with it."""

import asyncio
from typing import Any

import pytest

from handlers import broadcasts as handlers
from models.accounts.account import Account
from models.clock import DAY_MS, timestamp
from models.errors import ForbiddenError, InvalidError, NotFoundError
from tests.conftest import Clock
from tests.forms import form_with
from tests.structure.test_contract_shapes import check_shape

PHONE, OTHER = "491711234567", "491711234568"
LIST = f"Name;Phone;Ref;reference\r\n;{PHONE};a;r\r\nBert;0171 1234568;b;\r\nCarl;+{PHONE};c;\r\n"


def upload(account: Account, content: bytes = LIST.encode(), **given: Any) -> dict[str, Any]:
    made, status = asyncio.run(handlers.upload_recipients(account.id, form_with(content), **given))
    assert status == 201
    return made


def test_an_upload_has_its_counts_errors_and_columns(account: Account, clock: Clock) -> None:
    made = upload(account, country="DE")
    check_shape("RecipientsFile", made)
    [error] = made.pop("errors")
    assert error.pop("message")
    assert error == {"line": 3, "column": "Phone", "corrected": OTHER}
    assert made == {
        "id": made["id"],
        "filename": "list.csv",
        "kind": "csv",
        "encoding": "utf-8",
        "delimiter": ";",
        "toColumn": "Phone",
        "referenceColumn": "reference",
        "rows": 3,
        "recipients": 1,
        "duplicates": 1,
        "wrong": 1,
        "columns": [
            {"name": "Name", "empty": 1, "firstEmptyLine": 2},
            {"name": "Ref", "empty": 0, "firstEmptyLine": None},
        ],
        "broadcastId": None,
        "createdAt": timestamp(clock.at),
        "expiresAt": timestamp(clock.at + DAY_MS),
    }


def test_an_upload_can_be_read_by_its_account(account: Account) -> None:
    made = upload(account, f'{{"to": "{PHONE}"}}\n'.encode())
    check_shape("RecipientsFile", made)
    assert (made["kind"], made["delimiter"]) == ("ndjson", None)
    assert handlers.get_recipients_file(account.id, made["id"]) == made
    with pytest.raises(ForbiddenError):
        handlers.get_recipients_file(Account.open("Other", "pro").id, made["id"])
    with pytest.raises(NotFoundError):
        handlers.get_recipients_file(account.id, "rf_01JD5ZB3V7X9Z1B3D5F7H9K2MN")


def test_the_column_of_an_upload_can_be_stated(account: Account) -> None:
    made = upload(account, f"to,other\nx,{PHONE}\n".encode(), to_column="other")
    assert (made["toColumn"], made["recipients"]) == ("other", 1)


def test_a_form_without_the_file_is_refused(account: Account) -> None:
    form = form_with(LIST.encode(), "list")
    with pytest.raises(InvalidError):
        asyncio.run(handlers.upload_recipients(account.id, form))

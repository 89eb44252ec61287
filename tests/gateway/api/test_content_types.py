"""The error of a body with another content type names those that the operation takes."""

import re
from typing import Any

import pytest

from contract_tests.operations import all_operations
from gateway.api.app import build_app
from gateway.api.content_types import MAX_GIVEN
from models.accounts.account import Account, ApiKey
from tests.asgi import ask, http_scope
from tests.conftest import Configure

WITH_BODY = [each for each in all_operations() if each.body_schema or each.takes_form]
LONG = "x/" + "y" * 10 * MAX_GIVEN


@pytest.mark.parametrize("content_type", ["text/plain", LONG, "", None])
def test_the_error_of_each_operation_names_the_content_types_that_it_takes(
    configure: Configure, account: Account, content_type: str | None
) -> None:
    app, (_, key) = build_app(configure()), ApiKey.issue(account, "test")
    headers = {"Host": "127.0.0.1", "Authorization": f"Bearer {key}"}
    if content_type is not None:
        headers["Content-Type"] = content_type
    taken = {}
    for each in WITH_BODY:
        path = re.sub(r"{\w+}", "x", each.path)
        answered = ask(app, http_scope(each.method, path, headers=headers), [b"{}"])
        assert answered is not None
        assert answered.status == 415
        taken[each.id] = _named(answered.error)
    assert taken == {
        each.id: {"multipart/form-data" if each.takes_form else "application/json"}
        for each in WITH_BODY
    }


def _named(error: Any) -> set[str]:
    """The types outside of the quoted one."""
    message = re.sub('".*"', "", error["message"])
    assert len(error["message"]) < 2 * MAX_GIVEN + 50
    assert "[" not in message
    return set(re.findall(r"\w+/[\w-]+", message))

"""The page that creates API keys with limits."""

from typing import Any

import pytest

from models.accounts.account import Account, ApiKey
from models.accounts.user import User
from models.clock import timestamp
from tests import factories
from tests.dashboard.world import browser_of, form_token

PATH = "/dashboard/keys"


def _create(user: User, **limits: Any) -> int:
    browser = browser_of(user)
    form = {"csrf_token": form_token(browser, PATH), "name": "shop", **limits}
    return browser.post(PATH, data=form).status_code


def test_a_key_is_created_with_the_chosen_limits(user: User) -> None:
    number = factories.active_number(user.account, "1009", phone_number="15550009999")
    limits = {"scopes": ["messages:send"], "numbers": [number.id], "expires": "2099-01-31"}
    assert _create(user, **limits) == 200
    [row] = ApiKey.all(user.account_id)
    assert (row.scopes, row.number_ids) == (["messages:send"], [number.id])
    assert row.expires_at is not None
    assert timestamp(row.expires_at) == "2099-01-31T00:00:00.000Z"
    page = browser_of(user).get(PATH).text
    assert "messages:send</small>" in page


def test_a_key_without_choices_has_no_limits(user: User) -> None:
    assert _create(user) == 200
    [row] = ApiKey.all(user.account_id)
    assert (row.scopes, row.number_ids, row.expires_at) == (None, None, None)


@pytest.mark.parametrize(
    "limits",
    [
        {"scopes": ["messages:everything"]},
        {"numbers": ["num_01JD5Z8K4T9QW3X7VB2N6M1R0P"]},
        {"expires": "2020-01-31"},
        {"expires": "soon"},
        {"expires": "9999-99-99"},
    ],
)
def test_wrong_limits_create_no_key(user: User, limits: dict[str, Any]) -> None:
    assert _create(user, **limits) == 422
    assert ApiKey.all(user.account_id) == []


def test_numbers_of_other_accounts_cannot_be_chosen(user: User) -> None:
    other = factories.active_number(
        Account.open("Other", "pro"), "1008", phone_number="15550008888"
    )
    assert _create(user, numbers=[other.id]) == 422
    assert ApiKey.all(user.account_id) == []

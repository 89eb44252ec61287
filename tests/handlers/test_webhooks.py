"""Webhooks as the API takes them."""

from typing import Any

import pytest

from handlers import webhooks
from handlers.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from models.account import Account
from models.number import Number
from models.webhook import Webhook
from tests import factories

READ, SENT = "message.read", "message.sent"
URL = "http://127.0.0.1:9/hook"


@pytest.fixture
def second(account: Account) -> Number:
    """A second number of the account."""
    return factories.active_number(account, "1002", phone_number="15550002222")


def test_what_is_named_twice_counts_once_where_it_came_first(
    account: Account, number: Number, second: Number
) -> None:
    twice: dict[str, Any] = {
        "events": [SENT, READ, SENT],
        "numberIds": [second.id, second.id, number.id, second.id],
    }
    once = {"events": [SENT, READ], "numberIds": [second.id, number.id]}
    created, _ = webhooks.create_webhook(account.id, {"url": URL, **twice})
    other = webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})[0]
    updated = webhooks.update_webhook(account.id, other["id"], twice)
    for webhook in (created, updated):
        assert webhook.items() >= once.items()
        kept = Webhook.get_by_id(webhook["id"])
        assert (kept.events, kept.number_ids) == (once["events"], once["numberIds"])


def test_an_address_that_may_not_be_is_refused_by_its_place(account: Account) -> None:
    with pytest.raises(InvalidError) as caught:
        webhooks.create_webhook(account.id, {"url": "https://example.com:0/", "events": [READ]})
    assert caught.value.details == {"field": "/url"}


def test_a_filter_takes_the_accounts_own_numbers_only(account: Account, number: Number) -> None:
    foreign = factories.active_number(Account.open("Rival", "pro"), "9")

    def create(number_ids: list[str]) -> None:
        body = {"url": URL, "events": [READ], "numberIds": number_ids}
        webhooks.create_webhook(account.id, body)

    create([])
    create([number.id])
    with pytest.raises(ForbiddenError, match=foreign.id) as forbidden:
        create([number.id, foreign.id])
    assert forbidden.value.details == {"field": "/numberIds/1"}
    # Whether a number exists is checked first.
    with pytest.raises(NotFoundError, match="num_nothing") as unknown:
        create([foreign.id, number.id, "num_nothing"])
    assert unknown.value.details == {"field": "/numberIds/2"}


def test_an_unknown_number_is_404_for_a_new_webhook_and_409_for_one_that_exists(
    account: Account, number: Number
) -> None:
    numbers = {"numberIds": [number.id, "num_nothing"]}
    with pytest.raises(NotFoundError) as refused:
        webhooks.create_webhook(account.id, {"url": URL, "events": [READ], **numbers})
    existing = webhooks.create_webhook(account.id, {"url": URL, "events": [READ]})[0]
    with pytest.raises(ConflictError) as conflict:
        webhooks.update_webhook(account.id, existing["id"], numbers)
    assert refused.value.details == conflict.value.details == {"field": "/numberIds/1"}

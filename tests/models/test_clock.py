"""Identifiers: prefixed and ordered by time."""

import re

from models.accounts.account import Account
from models.clock import new_id
from models.numbers.number import Number
from tests import factories


def test_an_identifier_is_its_prefix_and_a_ulid() -> None:
    assert re.fullmatch(r"msg_[0-9A-HJKMNP-TV-Z]{26}", new_id("msg"))


def test_identifiers_are_unique_and_sort_by_creation() -> None:
    made = [new_id("evt") for _ in range(5000)]
    assert made == sorted(set(made))


def test_rows_carry_the_prefix_of_their_kind(account: Account, number: Number) -> None:
    webhook = factories.webhook(account)
    [delivery] = factories.deliveries(account, webhook)
    assert account.id.startswith("acc_")
    assert number.id.startswith("num_")
    assert webhook.id.startswith("wh_")
    assert delivery.id.startswith("dlv_")
    assert delivery.event_id.startswith("evt_")
    assert factories.outbound(number).id.startswith("msg_")

"""GET /usage and GET /usage.csv: their days and numbers, and their formats."""

import json
from datetime import date
from typing import Any

import pytest

from handlers.usage import export_usage, list_usage
from models.accounts.account import Account
from models.database import writing
from models.errors import ForbiddenError, InvalidError, NotFoundError
from models.messages.message import Message
from models.numbers.number import Number
from models.reports import usage as module
from models.reports.usage import counting
from tests import factories

# The tests' clock is at the 20th.
pytestmark = pytest.mark.usefixtures("clock")
DAY_MS = 86_400_000


def _count(number: Number, *days: str, direction: str = "INBOUND", **pricing: Any) -> None:
    """Count a message on each of these days."""
    with writing(), counting() as count:
        for day in days:
            created_at = (date.fromisoformat(day) - date(1970, 1, 1)).days * DAY_MS
            message = Message(
                account=number.account_id,
                number=number.id,
                direction=direction,
                created_at=created_at,
                pricing_json=json.dumps(pricing) if pricing else None,
            )
            count.add(message)


def _list(account: Account, **query: Any) -> Any:
    return list_usage(account.id, **{"limit": 20, "offset": 0} | query)


def _days(account: Account, **query: Any) -> list[str]:
    return [total["day"] for total in _list(account, **query)["data"]]


def _range(account: Account, **query: Any) -> tuple[str, str]:
    page = _list(account, **query)
    return page["since"], page["until"]


def test_usage_defaults_to_the_current_month(account: Account, number: Number) -> None:
    _count(number, "2026-10-31", "2026-11-01", "2026-11-20", "2026-11-21")
    assert _range(account) == ("2026-11-01", "2026-11-21")
    assert _days(account) == ["2026-11-01", "2026-11-20"]


def test_usage_includes_the_first_day_and_excludes_the_last(
    account: Account, number: Number
) -> None:
    _count(number, "2026-09-30", "2026-10-01", "2026-10-02", "2026-10-03")
    assert _days(account, since="2026-10-01", until="2026-10-03") == ["2026-10-01", "2026-10-02"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"until": "2026-10-01"}, ("2026-09-01", "2026-10-01")),
        ({"until": "2026-10-02"}, ("2026-10-01", "2026-10-02")),
        ({"since": "2026-10-15"}, ("2026-10-15", "2026-11-21")),
        ({"since": "2026-12-01"}, ("2026-12-01", "2026-11-21")),
        ({"since": "2024-01-01"}, ("2024-01-01", "2025-01-01")),
        ({"since": "2024-01-01", "until": "9999-12-31"}, ("2024-01-01", "2025-01-01")),
        ({"since": "9999-12-31", "until": "9999-12-31"}, ("9999-12-31", "9999-12-31")),
        ({"until": "0001-01-01"}, ("0001-01-01", "0001-01-01")),
    ],
)
def test_an_incomplete_or_too_long_range_is_refused(
    account: Account, query: dict[str, str], expected: tuple[str, str]
) -> None:
    """The limit of 366 days is in the error."""
    assert _range(account, **query) == expected


def test_usage_is_sorted_by_its_properties_and_paginated(account: Account, number: Number) -> None:
    _count(number, "2026-11-03", "2026-11-02")
    for category, is_billable in (("utility", True), ("marketing", True), ("utility", False)):
        pricing = {"category": category, "billable": is_billable}
        _count(number, "2026-11-02", "2026-11-02", direction="OUTBOUND", **pricing)
    whole = _list(account)
    assert [tuple(total.values()) for total in whole["data"]] == [
        ("2026-11-02", number.id, "INBOUND", None, False, 1),
        ("2026-11-02", number.id, "OUTBOUND", "marketing", True, 2),
        ("2026-11-02", number.id, "OUTBOUND", "utility", False, 2),
        ("2026-11-02", number.id, "OUTBOUND", "utility", True, 2),
        ("2026-11-03", number.id, "INBOUND", None, False, 1),
    ]
    pages = [_list(account, limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [total for page in pages for total in page["data"]] == whole["data"]
    assert {page["pagination"]["total"] for page in pages} == {5}


def test_a_category_without_messages_left_is_not_in_the_usage(
    account: Account, number: Number
) -> None:
    with writing(), counting() as count:
        message = factories.inbound(number)
        assert message is not None
        count.add(message)
    message.pricing_json = '{"category": "utility", "billable": true}'
    with writing(), counting() as count:
        count.add(message, "{}")
    assert [(t["category"], t["count"]) for t in _list(account)["data"]] == [("utility", 1)]


def test_usage_covers_one_number_or_the_whole_account(account: Account, number: Number) -> None:
    other = factories.active_number(account, "1002")
    _count(number, "2026-11-02")
    _count(other, "2026-11-03")
    assert _days(account) == ["2026-11-02", "2026-11-03"]
    assert _days(account, number_id=other.id) == ["2026-11-03"]
    stranger = Account.open("Rival", "pro")
    assert _days(stranger) == []
    for ask in (_list, lambda user, **query: export_usage(user.id, **query)):
        with pytest.raises(ForbiddenError):
            ask(stranger, number_id=number.id)
        with pytest.raises(NotFoundError):
            ask(account, number_id="num_nothing")


@pytest.mark.parametrize("part", [1, 2, 1000])
def test_an_export_has_all_of_it_in_one_file(
    account: Account, number: Number, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(module, "PART", part)
    _count(number, "2026-11-02", "2026-11-02")
    _count(number, "2026-11-03", direction="OUTBOUND", category="utility", billable=True)
    exported = export_usage(account.id)
    assert exported.headers["content-type"] == "text/csv; charset=utf-8"
    name = "usage_2026-11-01_2026-11-21.csv"
    assert exported.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert bytes(exported.body).decode() == (
        "day,numberId,direction,category,billable,count\r\n"
        f"2026-11-02,{number.id},INBOUND,,false,2\r\n"
        f"2026-11-03,{number.id},OUTBOUND,utility,true,1\r\n"
    )


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_day_that_does_not_exist_is_refused(account: Account, name: str) -> None:
    with pytest.raises(InvalidError, match=f"Query parameter {name}"):
        _list(account, **{name: "2026-02-30"})

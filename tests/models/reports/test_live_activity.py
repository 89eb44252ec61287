"""Rows since the last poll: each exactly once, also those that commit late."""

import json
from typing import Any

import pytest

from models.accounts.account import Account
from models.clock import id_bound, new_id
from models.database import writing
from models.deliveries.attempt import Attempt
from models.numbers.number import Number
from models.reports import live_activity
from models.reports.live_activity import LOOK_BACK_MS, Latest
from services.live_updates import LiveBlocks, Source
from tests import factories
from tests.conftest import Clock


@pytest.fixture
def record(account: Account) -> Any:
    """Record an attempt under an identifier, by default a new one. Returns it."""
    [delivery] = factories.deliveries(account, factories.webhook(account))

    def record_one(id_: str = "") -> str:
        with writing():
            row = Attempt.create(
                id=id_ or new_id("att"),
                delivery=delivery.id,
                number=1,
                started_at=1,
                duration_ms=1,
                success=True,
            )
        return str(row.id)

    return record_one


def _ids(ids: list[str]) -> list[str]:
    return ids


def test_each_row_is_found_once_also_one_that_commits_late(record: Any, clock: Clock) -> None:
    record()
    clock.advance(milliseconds=1)
    attempts = Latest(Attempt, "att")
    early = id_bound("att", clock.at) + "0"
    first = record()
    assert attempts.read(_ids) == [first]
    clock.advance(milliseconds=LOOK_BACK_MS - 1)
    record(early)
    second = record()
    assert attempts.read(_ids) == [early, second]
    clock.advance(seconds=60)
    assert attempts.read(_ids) == attempts.read(_ids) == []


def test_rows_are_found_after_a_clock_that_jumped_is_back(record: Any, clock: Clock) -> None:
    attempts = Latest(Attempt, "att")
    clock.advance(hours=25)
    assert attempts.read(_ids) == []
    clock.advance(hours=-25)
    first = record()
    assert attempts.read(_ids) == [first]
    assert attempts.read(_ids) == []


@pytest.fixture
def two_rows_a_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll reads two rows at most."""
    monkeypatch.setattr(live_activity, "MOST", 2)


@pytest.mark.usefixtures("two_rows_a_poll")
def test_a_failed_poll_loses_nothing_and_many_rows_need_several_polls(record: Any) -> None:
    attempts = Latest(Attempt, "att")
    ids = [record() for _ in range(5)]
    with pytest.raises(ZeroDivisionError):
        attempts.read(lambda _: [1 // 0])
    assert [attempts.read(_ids) for _ in range(4)] == [ids[:2], ids[2:4], ids[4:], []]


def test_a_notice_is_for_the_accounts_of_its_number_or_business_account(number: Number) -> None:
    other = factories.active_number(
        Account.open("Other", "pro"), "1002", "2001", phone_number="15550002222"
    )
    accounts = {number.account_id, other.account_id}
    live = LiveBlocks()

    def shown(phone_number: str | None) -> list[tuple[str, str, str | None]]:
        factories.notice(phone_number=phone_number)
        blocks = live.read({Source.NOTICES: accounts})
        read = {
            key: json.loads(block.text.partition("data: ")[2]) for key, [block] in blocks.items()
        }
        return sorted((key[1], data["numberId"], data["phoneNumber"]) for key, data in read.items())

    assert shown("15550002222") == [(other.account_id, other.id, "15550002222")]
    both = [(each.account_id, each.id, None) for each in (number, other)]
    assert shown(None) == sorted(both)
    accounts = {number.account_id}
    assert shown("15550003333") == [(number.account_id, number.id, None)]

"""Notices of the platform: stored once for the operator, without any other effect."""

from typing import Any

import pytest

from models.accounts.account import Account
from models.deliveries.event import Event
from models.numbers.notice import Notice
from models.numbers.number import Number
from tests import factories
from tests.conftest import Clock

AT = 1_795_000_000_000
PIN_CHANGED = {"event": "PIN_CHANGED"}


def _keep(
    field: str, value: dict[str, Any], phone_number: str | None = None, *, at: int = AT
) -> None:
    factories.notice(field, value, phone_number, at)


@pytest.mark.parametrize(
    ("field", "value", "event"),
    [
        ("account_update", {"event": "ACCOUNT_VIOLATION"}, "ACCOUNT_VIOLATION"),
        (
            "account_update",
            {
                "event": "DISABLED_UPDATE",
                "ban_info": {"waba_ban_state": "SCHEDULE_FOR_DISABLE"},
            },
            "DISABLED_UPDATE SCHEDULE_FOR_DISABLE",
        ),
        ("account_review_update", {"decision": "REJECTED"}, "REJECTED"),
        ("phone_number_quality_update", {"event": "THROUGHPUT_UPGRADE"}, "THROUGHPUT_UPGRADE"),
        ("phone_number_name_update", {"decision": "APPROVED"}, "APPROVED"),
        ("account_alerts", {"alert_info": {"alert_type": "OBA_REJECTED"}}, "OBA_REJECTED"),
        ("security", {"event": "PIN_CHANGED"}, "PIN_CHANGED"),
        ("message_template_status_update", {"event": "PAUSED"}, "PAUSED"),
        ("message_template_quality_update", {"new_quality_score": "RED"}, "RED"),
        ("template_category_update", {"new_category": "MARKETING"}, "MARKETING"),
        ("invented_tomorrow", {"x": 1}, "UNNAMED"),
        ("account_alerts", {"alert_info": None, "event": ["odd"]}, "['odd']"),
    ],
)
def test_a_notice_is_stored_once_with_the_platforms_name_of_it(
    number: Number, field: str, value: dict[str, Any], event: str
) -> None:
    for _ in range(2):
        _keep(field, value)
    [kept] = Notice.newest(10, number)
    assert (kept.waba_id, kept.field, kept.event) == ("2001", field, event)
    assert (kept.value, kept.at) == (value, AT)
    assert Event.select().count() == 0
    assert Number.get_by_id(number.id).status == number.status


def test_a_repetition_at_another_time_is_another_notice(number: Number) -> None:
    _keep("security", PIN_CHANGED)
    _keep("security", PIN_CHANGED, at=AT + 1)
    assert len(Notice.newest(10, number)) == 2


def test_a_notice_without_a_time_counts_from_its_arrival(number: Number, clock: Clock) -> None:
    arrived = clock.at
    _keep("security", PIN_CHANGED, at=0)
    clock.advance(seconds=5)
    _keep("security", PIN_CHANGED, at=0)
    [kept] = Notice.newest(10, number)
    assert kept.at == arrived


def test_a_number_is_shown_its_own_notices_and_its_accounts(
    account: Account, number: Number
) -> None:
    other = factories.active_number(account, "1002", phone_number="15550002222")
    foreign = factories.active_number(account, "1003", waba_id="2003")
    _keep("security", PIN_CHANGED, number.phone_number)
    _keep("security", PIN_CHANGED, other.phone_number)
    _keep("account_update", {"event": "ACCOUNT_VIOLATION"})
    assert [n.number_id for n in Notice.newest(10, number)] == [None, number.id]
    assert Notice.newest(10, foreign) == []
    assert len(Notice.newest(10)) == 3


def test_a_number_that_is_not_ours_is_kept_by_its_digits(number: Number) -> None:
    _keep("security", PIN_CHANGED, "19990000000")
    [kept] = Notice.newest(10)
    assert (kept.number_id, kept.phone_number) == (None, "19990000000")
    assert number.id

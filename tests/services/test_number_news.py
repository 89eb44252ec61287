"""Old news: the platform is asked, and nothing changes before its answer."""

from typing import Any

import pytest

from models.accounts.account import Account
from models.numbers.number import Number, NumberStatus
from networks.exceptions import NumberLostError
from services import number_checks, number_status
from tests import factories
from tests.asked_platform import AskedPlatform
from tests.conftest import Clock
from tests.tasks.callbacks import (
    accepted_message,
    account_update,
    ingest_now,
    kinds,
    messages,
    status_of,
)

ACTIVE, BANNED = NumberStatus.ACTIVE, NumberStatus.BANNED
DAY = 24 * 60 * 60
LOCKED = {"code": 131031, "title": "Account locked"}


def _now(number: Number) -> Number:
    fresh: Number = Number.get_by_id(number.id)
    return fresh


def _check(number: Number) -> None:
    number.amend(due_at=0)
    number_checks.check_due()


def _failed(number: Number, seconds_ago: int, *errors: dict[str, Any], clock: Clock) -> None:
    """A ``failed`` status of a message, with these errors, arrives so late."""
    accepted_message(number, "wamid.A")
    time = str(clock.at // 1000 - seconds_ago)
    ingest_now(messages(statuses=[status_of("wamid.A", "failed", errors=errors, timestamp=time)]))


def _banned(seconds_ago: int, clock: Clock) -> None:
    update = account_update("DISABLED_UPDATE", ban_info={"waba_ban_state": "DISABLE"})
    ingest_now(update | {"time": clock.at // 1000 - seconds_ago})


@pytest.mark.parametrize("code", [0, 33, 190, 3, 10, 200, 368, 131005, 131031, 133010])
@pytest.mark.parametrize("said", ["CONNECTED", "BANNED"])
def test_a_failed_status_changes_the_number_only_to_what_the_platform_says(
    number: Number, asked_platform: AskedPlatform, clock: Clock, code: int, said: str
) -> None:
    asked_platform.status = said
    _failed(number, 0, {"code": code}, clock=clock)
    assert _now(number).status == ACTIVE
    number_checks.check_due()
    assert len(asked_platform.asked) == 1
    assert _now(number).status == (ACTIVE if said == "CONNECTED" else BANNED)
    assert ("number.banned" in kinds()) is (said == "BANNED")


@pytest.mark.parametrize("code", [368, 131031, 133010])
def test_a_failed_status_from_before_the_activation_is_not_even_asked_about(
    number: Number, asked_platform: AskedPlatform, clock: Clock, code: int
) -> None:
    _failed(number, 6 * DAY, {"code": code}, clock=clock)
    number_checks.check_due()
    assert (asked_platform.asked, _now(number).status, _now(number).reason) == ([], ACTIVE, None)


def test_an_account_update_from_before_the_last_check_is_not_asked_about(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    clock.advance(hours=30)
    _check(number)
    clock.advance(minutes=5)
    _banned(2 * 60 * 60, clock)
    assert _now(number).reason is None
    number_checks.check_due()
    assert len(asked_platform.asked) == 1
    _banned(60, clock)
    number_checks.check_due()
    assert len(asked_platform.asked) == 2


def test_the_reason_in_news_is_forgotten_when_the_platform_denies_it(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    _banned(0, clock)
    assert _now(number).reason == "DISABLED_UPDATE DISABLE"
    number_checks.check_due()
    assert (_now(number).status, _now(number).reason) == (ACTIVE, None)
    clock.advance(hours=30)
    asked_platform.status = "DISCONNECTED"
    number_checks.check_due()
    assert _now(number).reason == "DISCONNECTED"


def test_news_is_no_reason_of_other_numbers_nor_of_a_status_that_is_known(
    number: Number, account: Account, asked_platform: AskedPlatform, clock: Clock
) -> None:
    other = factories.active_number(account, "1002", phone_number="15550002222")
    _failed(number, 0, LOCKED, clock=clock)
    assert _now(other).reason is None
    asked_platform.status = "BANNED"
    number_checks.check_due()
    reason = _now(number).reason
    ingest_now(account_update("ACCOUNT_DELETED"))
    assert _now(number).reason == reason


def test_the_reason_in_news_that_comes_during_a_check_counts_for_the_next_one(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    def be_banned() -> None:
        asked_platform.while_asked = lambda: None
        _banned(0, clock)

    asked_platform.while_asked = be_banned
    _check(number)
    asked_platform.status = "BANNED"
    clock.advance(milliseconds=number_status.NEWS_PAUSE_MS)
    number_checks.check_due()
    assert _now(number).reason == "DISABLED_UPDATE DISABLE"


def test_the_error_of_a_failed_status_is_the_reason_of_the_ban_that_it_announced(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    asked_platform.status = "BANNED"
    _failed(number, 0, LOCKED, clock=clock)
    number_checks.check_due()
    assert "131031 Account locked" in (_now(number).reason or "")


def test_the_latest_notice_is_shown_also_if_an_earlier_one_comes_after_it(
    number: Number, clock: Clock
) -> None:
    def name(shown: str, seconds_ago: int) -> None:
        value = {"decision": "APPROVED", "requested_verified_name": shown}
        value["display_phone_number"] = number.phone_number
        change = {"field": "phone_number_name_update", "value": value}
        time = clock.at // 1000 - seconds_ago
        ingest_now({"id": "2001", "time": time, "changes": [change]})

    clock.advance(minutes=1)
    name("Third name", 10)
    name("Second name", 20)
    fresh = _now(number)
    assert (fresh.display_name, fresh.notice["at"]) == ("Third name", clock.at - 10_000)


def _limit(number: Number, at: int) -> None:
    """A notice of a limit that passed arrives."""
    value = {"display_phone_number": number.phone_number, "current_limit": "TIER_250"}
    change = {"field": "phone_number_quality_update", "value": value | {"event": "ONBOARDING"}}
    ingest_now({"id": "2001", "time": at, "changes": [change]})


@pytest.mark.parametrize("seconds_ago", [DAY, 1, None])
def test_a_notice_from_before_the_last_check_changes_no_value(
    number: Number, asked_platform: AskedPlatform, clock: Clock, seconds_ago: int | None
) -> None:
    asked_platform.news = {"display_name": "Present name", "messaging_limit": "TIER_10K"}
    clock.advance(hours=30)
    _check(number)
    _limit(number, 0 if seconds_ago is None else clock.at // 1000 - seconds_ago)
    assert _now(number).messaging_limit == "TIER_10K"
    clock.advance(milliseconds=number_status.NEWS_PAUSE_MS)
    number_checks.check_due()
    assert len(asked_platform.asked) == (1 if seconds_ago == DAY else 2), "it may be news"


def test_a_notice_from_before_the_activation_changes_no_value(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    _limit(number, clock.at // 1000 - 6 * DAY)
    number_checks.check_due()
    assert (_now(number).messaging_limit, asked_platform.asked) == (None, [])


def test_the_error_of_a_call_from_before_a_new_signup_has_the_platform_asked(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    stale = _now(number)
    number_status.change_status(_now(number), NumberStatus.DISCONNECTED)
    clock.advance(minutes=1)
    number_status.change_status(_now(number), ACTIVE)
    number_status.apply_error(stale, NumberLostError("190", "Revoked"))
    assert _now(number).status == ACTIVE
    number_checks.check_due()
    assert len(asked_platform.asked) == 1

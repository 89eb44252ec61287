"""The periodic check of every connected number (NUMBER_CHECK_INTERVAL)."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.numbers.number import Number, NumberStatus
from services import number_checks, number_status
from tests import factories
from tests.asked_platform import AskedPlatform
from tests.conftest import Clock, Configure

ACTIVE, BANNED = NumberStatus.ACTIVE, NumberStatus.BANNED
DISCONNECTED, PROVISIONING = NumberStatus.DISCONNECTED, NumberStatus.PROVISIONING
INTERVAL_MS = 900_000


def _now(number: Number) -> Number:
    fresh: Number = Number.get_by_id(number.id)
    return fresh


def _become(number: Number, status: NumberStatus) -> Number:
    """Set a number to this status."""
    with writing():
        number.move_to(PROVISIONING)
    number_status.change_status(number, status)
    return number


@pytest.mark.parametrize("status", [ACTIVE, BANNED])
def test_a_number_is_checked_from_time_to_time(
    number: Number, asked_platform: AskedPlatform, clock: Clock, status: NumberStatus
) -> None:
    asked_platform.status = "BANNED" if status is BANNED else "CONNECTED"
    _become(number, status)
    for count in range(1, 4):
        number_checks.check_due()
        assert len(asked_platform.asked) == count - 1
        due_in = (_now(number).due_at or 0) - clock.at
        assert 0.9 * INTERVAL_MS <= due_in <= 1.1 * INTERVAL_MS
        clock.advance(milliseconds=due_in)
        number_checks.check_due()
        assert len(asked_platform.asked) == count


def test_the_checks_of_many_numbers_are_spread(account: Account, clock: Clock) -> None:
    for i in range(20):
        _become(factories.provision(account, f"{i}"), ACTIVE)
    assert len({number.due_at for number in Number.all()}) > 10
    assert clock.at


@pytest.mark.parametrize("status", [DISCONNECTED, PROVISIONING])
def test_a_number_that_is_not_connected_is_not_checked_from_time_to_time(
    account: Account, asked_platform: AskedPlatform, clock: Clock, status: NumberStatus
) -> None:
    number = factories.provision(account)
    if status is DISCONNECTED:
        _become(_become(number, ACTIVE), DISCONNECTED)
    for _ in range(3):
        number_checks.check_due()
        clock.advance(hours=1)
    assert asked_platform.asked == []


def test_the_interval_is_a_setting(
    number: Number, configure: Configure, asked_platform: AskedPlatform, clock: Clock
) -> None:
    configure(NUMBER_CHECK_INTERVAL="5")
    _become(number, ACTIVE)
    clock.advance(seconds=4.4)
    number_checks.check_due()
    assert asked_platform.asked == []
    clock.advance(seconds=1.1)
    number_checks.check_due()
    assert asked_platform.asked == [number.phone_number_id]

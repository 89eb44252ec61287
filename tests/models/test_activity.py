"""What an account did in the last hours."""

from models.account import Account
from models.activity import HOUR_MS, hourly
from models.number import Number
from tests import factories
from tests.conftest import Clock


def test_messages_are_counted_in_the_hour_of_their_sending(
    clock: Clock, account: Account, number: Number
) -> None:
    factories.outbound(number)
    factories.inbound(number)
    clock.advance(hours=1)
    factories.outbound(number)
    factories.outbound(number)
    hours = hourly(account.id, clock.at, 3)
    assert [hour.sends for hour in hours] == [0, 1, 2]
    assert [hour.start % HOUR_MS for hour in hours] == [0, 0, 0]
    assert hourly(account.id, clock.advance(hours=2), 2)[0].sends == 0


def test_another_account_and_undelivered_events_do_not_count(
    clock: Clock, account: Account, number: Number
) -> None:
    factories.outbound(number)
    factories.deliveries(account, factories.webhook(account), count=2)
    other = Account.open("Other", "pro")
    assert [(hour.sends, hour.deliveries) for hour in hourly(other.id, clock.at, 1)] == [(0, 0)]
    assert [hour.deliveries for hour in hourly(account.id, clock.at, 1)] == [0]

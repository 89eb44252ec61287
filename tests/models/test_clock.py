"""The server's time, and identifiers: prefixed and ordered by time."""

import re

import pytest

from models.accounts.account import Account
from models.clock import ServerTime, new_id
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


class _Server:
    """A server whose time is ``ahead`` of the steady clock. It responds after ``trip``. All in ms."""

    def __init__(self) -> None:
        self.steady, self.ahead, self.trip = 1_000_000, 50_000, 10

    def execute(self, _: str) -> "_Server":
        self.steady += self.trip
        return self

    def fetchone(self) -> tuple[int]:
        return (self.steady - self.trip // 2 + self.ahead,)


@pytest.mark.parametrize(
    ("moved", "trip", "seen"),
    [(5_000, 10, 55_000), (-5_000, 10, 45_000), (25, 10, 50_000), (5_000, 201, 50_000)],
    ids=["ahead", "behind", "noise", "slow response"],
)
def test_the_servers_time_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, moved: int, trip: int, seen: int
) -> None:
    server, measured = _Server(), ServerTime()
    monkeypatch.setattr("models.clock.steady", lambda: server.steady)
    measured.measure(server)
    assert measured.offset == 50_000
    server.ahead += moved
    server.trip = trip
    measured.measure(server)
    assert measured.offset == seen

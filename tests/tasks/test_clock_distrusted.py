"""A clock of this machine that jumps deletes and expires nothing."""

import time
from collections.abc import Callable

import pytest

from models import clock, database
from models.accounts.account import Account
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from models.clock import WallClock
from models.database import known_time
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from tasks import sweep
from tests import factories, people

HOUR_NS = 3_600 * 10**9
Jump = Callable[[float], None]


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch, account: Account) -> Jump:
    """Moves the wall clock of this process by hours. The process knew the right time before."""
    assert account.id
    fresh = WallClock()
    for module in (clock, known_time):
        monkeypatch.setattr(module, "wall_clock", fresh)
    known_time.look()
    true_time = time.time_ns

    def move(hours: float) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: true_time() + round(hours * HOUR_NS))
        monkeypatch.setattr(time, "time", lambda: time.time_ns() / 1e9)

    return move


@pytest.mark.parametrize("hours", [25, 31 * 24, -1, -31 * 24])
def test_a_jump_deletes_and_expires_nothing(number: Number, jump: Jump, hours: float) -> None:
    sent, lost = factories.outbound(number), factories.outbound(number)
    with database.writing():
        for key, message in (("sent", sent), ("lost", lost)):
            assert IdempotencyKey.claim(number.account_id, key, "f", message) is None
        sent.advance(MessageStatus.READ, at=clock.now())
        lost.advance(MessageStatus.UNKNOWN, at=clock.now())
    token = UserSession.begin(people.member(Account.get_by_id(number.account_id), Role.OWNER))
    before = clock.now()
    jump(hours)
    made = factories.outbound(number)
    sweep.sweep()
    jump(0)
    sweep.sweep()
    states = {message.id: message.status for message in Message.select()}
    assert states == {sent.id: "read", lost.id: "unknown", made.id: "pending"}
    assert IdempotencyKey.find(number.account_id, "sent") is not None
    with database.writing():
        assert IdempotencyKey.claim(number.account_id, "sent", "f", made) is not None
    assert UserSession.resume(token) is not None
    assert -10 <= made.created_at - before < 60_000
    # Its identifier has the right time too, by which it is deleted one day.
    assert clock.id_bound("msg", before - 10) <= made.id < clock.id_bound("msg", before + 60_000)


@pytest.mark.sqlite
def test_a_jump_stops_deleting_until_it_is_confirmed(number: Number, jump: Jump) -> None:
    message = factories.outbound(number)
    with database.writing():
        message.advance(MessageStatus.READ, at=clock.now())
    jump(31 * 24)
    known_time.look()
    assert not clock.is_confirmed()
    sweep.sweep()
    assert Message.by_id(message.id) is not None
    known_time.confirm()
    assert clock.is_confirmed()
    sweep.sweep()
    assert Message.by_id(message.id) is None


@pytest.mark.sqlite
def test_a_boot_with_a_wrong_clock_expires_no_idempotency_key(
    number: Number, jump: Jump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New rows get the time of that clock. Keys expire by the earliest time that it can be."""
    message = factories.outbound(number)
    with database.writing():
        IdempotencyKey.claim(number.account_id, "sent", "f", message)
    jump(31 * 24)
    booted = WallClock(boot="another boot")
    for module in (clock, known_time):
        monkeypatch.setattr(module, "wall_clock", booted)
    known_time.look()
    assert clock.now() - clock.certain() > 30 * 24 * 3_600_000
    assert IdempotencyKey.find(number.account_id, "sent") is not None
    with database.writing():
        assert IdempotencyKey.claim(number.account_id, "sent", "f", message) is not None
        assert IdempotencyKey.forget_expired() == 0


@pytest.mark.sqlite
def test_a_process_that_starts_with_a_wrong_clock_notices_it(
    jump: Jump, monkeypatch: pytest.MonkeyPatch
) -> None:
    jump(31 * 24)
    later = WallClock()
    for module in (clock, known_time):
        monkeypatch.setattr(module, "wall_clock", later)
    known_time.look()
    assert not clock.is_confirmed()
    jump(0)
    known_time.look()
    assert clock.is_confirmed()

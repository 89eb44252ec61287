"""Checks: the network's response decides the status of a number (ADR 18)."""

import pytest

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.database import writing
from models.deliveries.attempt import NO_OUTCOME
from models.deliveries.event import Event
from models.numbers.number import Number, NumberStatus
from models.work import MOST_IN_A_ROUND
from networks.exceptions import (
    AccountActionError,
    AmbiguousError,
    NetworkError,
    NotReachedError,
    NumberBannedError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)
from services import number_checks, number_status
from tests import factories
from tests.asked_platform import AskedPlatform
from tests.conftest import Clock, Configure

ACTIVE, BANNED = NumberStatus.ACTIVE, NumberStatus.BANNED
DISCONNECTED, PROVISIONING = NumberStatus.DISCONNECTED, NumberStatus.PROVISIONING
INTERVAL_MS = 900_000


def _request(number: Number) -> None:
    with writing():
        number_status.request_checks([number])


def _now(number: Number) -> Number:
    fresh: Number = Number.get_by_id(number.id)
    return fresh


def _kinds() -> list[str]:
    return [event.kind for event in Event.select().order_by(Event.id)]


def _move(number: Number, status: NumberStatus) -> Number:
    with writing():
        number.move_to(status)
    return number


@pytest.mark.parametrize(
    ("said", "status", "kinds"),
    [
        ("CONNECTED", ACTIVE, []),
        ("BANNED", BANNED, ["number.banned"]),
        ("DISCONNECTED", DISCONNECTED, ["number.disconnected"]),
        ("UNVERIFIED", DISCONNECTED, ["number.disconnected"]),
        ("MIGRATED", DISCONNECTED, ["number.disconnected"]),
        ("DELETED", DISCONNECTED, ["number.disconnected"]),
        ("PENDING", ACTIVE, []),
        ("RESTRICTED", ACTIVE, []),
        ("RATE_LIMITED", ACTIVE, []),
        ("FLAGGED", ACTIVE, []),
        ("UNKNOWN", ACTIVE, []),
        ("INVENTED_TOMORROW", ACTIVE, []),
    ],
)
def test_an_active_number_becomes_what_the_network_says(
    number: Number, asked_platform: AskedPlatform, said: str, status: NumberStatus, kinds: list[str]
) -> None:
    asked_platform.status = said
    for _ in range(2):
        _request(number)
        number_checks.check_due()
    assert (_now(number).status, _kinds()) == (status, kinds)
    assert [row.action for row in Audit.all(number.account_id)] == kinds


def test_a_banned_number_that_is_connected_again_is_active(
    number: Number, asked_platform: AskedPlatform
) -> None:
    _move(number, BANNED)
    _request(number)
    number_checks.check_due()
    assert (_now(number).status, _kinds()) == (ACTIVE, ["number.activated"])
    assert asked_platform.asked == ["1001"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NumberLostError("190", "Session has expired"), DISCONNECTED),
        (NumberBannedError("131031", "Account locked"), BANNED),
        (NumberInDoubtError("10", "Permission denied"), ACTIVE),
        (AccountActionError("131042", "Payment"), ACTIVE),
        (RefusedError("100", "Invalid parameter"), ACTIVE),
    ],
)
def test_an_error_of_a_check_changes_the_number_too(
    number: Number, asked_platform: AskedPlatform, error: NetworkError, status: NumberStatus
) -> None:
    asked_platform.error = error
    _request(number)
    number_checks.check_due()
    assert _now(number).status == status
    assert (_now(number).due_at is None) is (status == DISCONNECTED), "the next check is due later"


@pytest.mark.parametrize(
    "error",
    [
        NotReachedError("unreachable", "No network"),
        AmbiguousError("timeout", "No answer"),
        ThrottledError("4", "Too many calls"),
    ],
)
def test_without_an_answer_the_number_is_checked_again_after_a_pause(
    number: Number, asked_platform: AskedPlatform, clock: Clock, error: NetworkError
) -> None:
    other = factories.active_number(Account.get_by_id(number.account_id), "1002")
    asked_platform.error = error
    _request(number)
    _request(other)
    number_checks.check_due()
    assert len(asked_platform.asked) == 1, "the others would only wait for the same time-out"
    first = Number.get(Number.phone_number_id == asked_platform.asked[0])
    assert first.status == ACTIVE
    assert 27_000 <= (first.due_at or 0) - clock.at <= 33_000
    asked_platform.error, asked_platform.status = None, "BANNED"
    clock.advance(seconds=34)
    number_checks.check_due()
    assert {_now(number).status, _now(other).status} == {BANNED}


def test_news_during_the_pause_after_a_check_without_an_answer_ends_the_pause(
    number: Number, asked_platform: AskedPlatform
) -> None:
    asked_platform.error = AmbiguousError("timeout", "No answer")
    _request(number)
    number_checks.check_due()
    _request(number)
    number_checks.check_due()
    assert len(asked_platform.asked) == 2


def test_an_answer_about_a_number_that_changed_meanwhile_does_not_count(
    number: Number, asked_platform: AskedPlatform
) -> None:
    """It was CONNECTED when the network responded. Since then, a send has found its token revoked."""
    asked_platform.while_asked = lambda: number_status.change_status(_now(number), DISCONNECTED)
    _request(number)
    number_checks.check_due()
    assert (_now(number).status, _kinds()) == (DISCONNECTED, ["number.disconnected"])


def test_a_check_that_is_asked_for_during_a_check_is_not_lost(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    def be_banned() -> None:
        asked_platform.while_asked = lambda: None
        clock.advance(milliseconds=5)
        _request(number)

    asked_platform.while_asked = be_banned
    _request(number)
    number_checks.check_due()
    clock.advance(milliseconds=number_status.NEWS_PAUSE_MS)
    number_checks.check_due()
    assert len(asked_platform.asked) == 2


def test_news_that_never_ends_neither_repeats_the_check_at_once_nor_voids_its_result(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    def hear_more() -> None:
        clock.advance(milliseconds=5)
        _request(number)

    asked_platform.while_asked, asked_platform.status = hear_more, "BANNED"
    for _ in range(20):
        _request(number)
        number_checks.check_due()
        clock.advance(milliseconds=100)
    assert _now(number).status == BANNED
    assert len(asked_platform.asked) <= 3, asked_platform.asked


def test_a_check_whose_worker_died_is_made_when_its_lease_is_over(
    number: Number, asked_platform: AskedPlatform, clock: Clock, configure: Configure
) -> None:
    configure(NETWORK_TIMEOUT="50")

    class DeathError(BaseException):
        """Nothing catches it."""

    def die() -> None:
        raise DeathError

    asked_platform.while_asked = die
    _request(number)
    with pytest.raises(DeathError):
        number_checks.check_due()
    asked_platform.while_asked, asked_platform.status = (lambda: None), "BANNED"
    number_checks.check_due()
    assert _now(number).status == ACTIVE
    # The requests may end after a time-out each.
    clock.advance(seconds=2 * 50 + 10)
    number_checks.check_due()
    assert _now(number).status == ACTIVE
    clock.advance(seconds=51)
    number_checks.check_due()
    assert _now(number).status == BANNED


def test_a_clock_that_is_set_back_delays_no_check(
    number: Number, asked_platform: AskedPlatform, clock: Clock
) -> None:
    _request(number)
    clock.advance(hours=-3)
    number_checks.check_due()
    assert asked_platform.asked == [number.phone_number_id]


def test_a_round_of_checks_is_bounded_and_the_next_one_continues(
    account: Account, asked_platform: AskedPlatform
) -> None:
    for i in range(MOST_IN_A_ROUND + 1):
        _request(factories.active_number(account, f"{i}"))
    number_checks.check_due()
    assert len(asked_platform.asked) == MOST_IN_A_ROUND
    number_checks.check_due()
    assert len(asked_platform.asked) == MOST_IN_A_ROUND + 1


def test_a_check_that_kills_its_worker_each_time_is_set_aside_until_it_is_requested(
    number: Number, asked_platform: AskedPlatform, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    class Dead(BaseException):
        """The worker ends."""

    def die() -> None:
        raise Dead

    asked_platform.while_asked = die
    _request(number)
    for _ in range(number_status.MAX_TRIES):
        with pytest.raises(Dead):
            number_checks.check_due()
        clock.advance(minutes=10)
    asked_platform.while_asked = lambda: None
    other = factories.active_number(Account.get_by_id(number.account_id), "1002")
    _request(other)
    number_checks.check_due()
    assert asked_platform.asked[-1] == other.phone_number_id, "it stops no other check"
    for _ in range(5):
        number_checks.check_due()
        clock.advance(milliseconds=2 * INTERVAL_MS)
    tried = asked_platform.asked.count(number.phone_number_id)
    assert tried == number_status.MAX_TRIES
    assert ("ERROR", (number.id, NO_OUTCOME)) in [
        (record.levelname, record.args) for record in caplog.records
    ]
    _request(number)
    number_checks.check_due()
    assert asked_platform.asked.count(number.phone_number_id) == tried + 1
    assert _now(number).tries == 0


def test_a_number_that_another_account_connected_meanwhile_is_left_to_it(
    number: Number, asked_platform: AskedPlatform
) -> None:
    _move(number, DISCONNECTED)
    rival = Account.open("Rival", "pro")
    asked_platform.while_asked = lambda: factories.active_number(rival)
    with writing():
        number_status.request_checks([number], [DISCONNECTED])
    number_checks.check_due()
    assert len(asked_platform.asked) == 1
    fresh = _now(number)
    assert (fresh.status, fresh.due_at, fresh.tries) == (DISCONNECTED, None, 0)
    assert _kinds() == []

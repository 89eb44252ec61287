"""Account updates of the network: they select the numbers to check, and never set a status themselves."""

from typing import Any

import pytest

import models.clock
from models.accounts.account import Account
from models.database import writing
from models.deliveries.event import Event
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus
from networks.exceptions import (
    AccountActionError,
    AmbiguousError,
    NetworkError,
    NumberBannedError,
    NumberInDoubtError,
    NumberLostError,
    RefusedError,
    ThrottledError,
)
from services import number_status
from tests import factories
from tests.conftest import Clock
from tests.tasks.callbacks import account_update, ingest_now

ACTIVE, BANNED = NumberStatus.ACTIVE, NumberStatus.BANNED
DISCONNECTED, PROVISIONING = NumberStatus.DISCONNECTED, NumberStatus.PROVISIONING
ALL = (PROVISIONING, ACTIVE, DISCONNECTED, BANNED)
OUR_APP = "100000000000001"


def _update(event: str, detail: str | None = None, **value: Any) -> None:
    """The network sends an update of the account."""
    ban: dict[str, Any] = {"ban_info": {"waba_ban_state": detail}} if detail else {}
    ingest_now(account_update(event, **ban, **value))


def _is_due(number: Number) -> bool:
    due_at = Number.get_by_id(number.id).due_at
    return due_at is not None and due_at <= models.clock.now()


def _numbers(account: Account) -> dict[NumberStatus, Number]:
    """A number in each state. The disconnected one was active before."""
    made = {status: factories.provision(account, str(status)) for status in ALL}
    with writing():
        for status, number in made.items():
            if status is not PROVISIONING:
                number.move_to(ACTIVE)
                number.move_to(status)
    return made


@pytest.mark.parametrize(
    ("event", "detail", "checked"),
    [
        ("DISABLED_UPDATE", "DISABLE", {ACTIVE}),
        ("DISABLED_UPDATE", "REINSTATE", {BANNED}),
        ("ACCOUNT_RECONNECTED", None, {DISCONNECTED}),
        ("PARTNER_REMOVED", None, {ACTIVE, BANNED}),
        ("PARTNER_APP_UNINSTALLED", None, {ACTIVE, BANNED}),
        ("ACCOUNT_OFFBOARDED", None, {ACTIVE, BANNED}),
        ("ACCOUNT_DELETED", None, {ACTIVE, BANNED}),
        ("DISABLED_UPDATE", "SCHEDULE_FOR_DISABLE", {ACTIVE, BANNED}),
        ("ACCOUNT_VIOLATION", None, {ACTIVE, BANNED}),
        ("ACCOUNT_RESTRICTION", None, {ACTIVE, BANNED}),
        ("PARTNER_ADDED", None, {ACTIVE, BANNED}),
        ("INVENTED_TOMORROW", None, {ACTIVE, BANNED}),
    ],
)
def test_an_update_has_those_numbers_checked_that_it_could_be_about(
    account: Account, event: str, detail: str | None, checked: set[NumberStatus]
) -> None:
    numbers = _numbers(account)
    for _ in range(2):
        _update(event, detail)
    assert {status for status, number in numbers.items() if _is_due(number)} == checked
    assert all(Number.get_by_id(n.id).status == status for status, n in numbers.items())
    moves = Event.select().where(Event.kind != "number.updated")
    assert moves.count() == 0, "the network is asked first"


@pytest.mark.usefixtures("number")
@pytest.mark.parametrize(
    ("event", "is_kept"), [("ACCOUNT_VIOLATION", True), ("PARTNER_REMOVED", False)]
)
def test_what_changes_no_number_is_kept_to_be_read(event: str, *, is_kept: bool) -> None:
    for _ in range(2):
        _update(event)
    assert Notice.select().count() == is_kept


def test_the_numbers_of_other_business_accounts_are_left_alone(account: Account) -> None:
    other = factories.active_number(account, "1002", waba_id="2002")
    _update("DISABLED_UPDATE", "DISABLE")
    assert not _is_due(other)


@pytest.mark.parametrize(("app_id", "concerned"), [(OUR_APP, True), ("4711", False)])
def test_the_removal_of_another_app_changes_nothing(
    number: Number, app_id: str, *, concerned: bool
) -> None:
    info = {"waba_id": "2001", "partner_app_id": app_id}
    _update("PARTNER_APP_UNINSTALLED", waba_info=info)
    assert _is_due(number) is concerned


def test_a_signup_that_never_got_ready_is_not_reconnected(account: Account) -> None:
    abandoned = factories.provision(account)
    abandoned.abandon()
    _update("ACCOUNT_RECONNECTED")
    assert not _is_due(abandoned)


@pytest.mark.parametrize("event", ["ACCOUNT_RECONNECTED", "ACCOUNT_OFFBOARDED"])
def test_a_number_connected_by_another_account_in_the_meantime_stays_there(
    account: Account, event: str
) -> None:
    lost = factories.active_number(account)
    with writing():
        lost.move_to(DISCONNECTED)
    theirs = factories.active_number(Account.open("Rival", "pro"))
    _update(event)
    assert not _is_due(lost)
    assert _is_due(theirs) is (event == "ACCOUNT_OFFBOARDED")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NumberLostError("190", "Session has expired"), DISCONNECTED),
        (NumberBannedError("131031", "Account locked"), BANNED),
        (RefusedError("131026", "Undeliverable"), ACTIVE),
        (ThrottledError("130429", "Rate limit hit"), ACTIVE),
        (AccountActionError("131042", "Payment"), ACTIVE),
        (AmbiguousError("timeout", "No answer"), ACTIVE),
    ],
)
def test_an_error_of_the_network_moves_the_number_or_leaves_it(
    number: Number, error: NetworkError, status: NumberStatus
) -> None:
    for _ in range(2):
        number_status.apply_error(number, error)
    assert Number.get_by_id(number.id).status == status
    assert Event.select().count() == int(status is not ACTIVE)
    assert not _is_due(number)


@pytest.mark.parametrize(
    "error",
    [
        NumberLostError("190", "Session has expired"),
        NumberBannedError("131031", "Account locked"),
        NumberInDoubtError("368", "Blocked for now"),
    ],
)
@pytest.mark.parametrize("status", [DISCONNECTED, PROVISIONING])
def test_a_late_error_does_not_change_a_disconnected_number(
    account: Account, status: NumberStatus, error: NetworkError
) -> None:
    """It may belong to another account by now, or to a new signup."""
    number = factories.provision(account)
    stale = Number.get_by_id(number.id)
    if status is DISCONNECTED:
        with writing():
            number.move_to(ACTIVE)
            stale = Number.get_by_id(number.id)
            number.move_to(DISCONNECTED)
        factories.active_number(Account.open("Rival", "pro"))
    number_status.apply_error(stale, error)
    assert Number.get_by_id(number.id).status == status
    assert not _is_due(number)
    assert Event.select().count() == 0


def test_an_error_that_leaves_the_number_in_doubt_only_has_it_checked(
    number: Number, clock: Clock
) -> None:
    with writing():
        number_status.apply_error(number, NumberInDoubtError("368", "Blocked for now"))
    fresh = Number.get_by_id(number.id)
    assert (fresh.status, fresh.due_at) == (ACTIVE, clock.at)

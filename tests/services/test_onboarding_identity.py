"""A signup of a phone number that the account has already, under other identifiers of the platform."""

from dataclasses import replace

import pytest

from models.accounts.account import Account
from models.database import database, writing
from models.deliveries.event import Event
from models.numbers.number import Number, NumberStatus
from models.numbers.signup import SignupLink
from networks.exceptions import AmbiguousError, NumberLostError
from services import number_status, onboarding
from tests import factories
from tests.fake_platform import CODE, GRANT, TOKEN, Platform

ACTIVE, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.DISCONNECTED
CLAIM = onboarding.SignupClaim(CODE, "1001", "2002")
PHONE = "15550002222"


@pytest.fixture
def moved(account: Account, platform: Platform) -> Number:
    """A number of the account whose phone number the platform knows as 1001 of another business account."""
    platform.phones["1001"] = PHONE
    platform.wabas.add("2002")
    platform.grant = replace(GRANT, waba_ids=frozenset({"2002"}))
    return factories.active_number(account, "1900", phone_number=PHONE)


def _now(number: Number) -> Number:
    fresh: Number = Number.get_by_id(number.id)
    return fresh


@pytest.mark.parametrize("status", [ACTIVE, DISCONNECTED, NumberStatus.BANNED])
def test_the_signup_of_a_migrated_number_continues_the_same_number(
    link: SignupLink, moved: Number, status: NumberStatus
) -> None:
    with writing():
        moved.move_to(status)
    number = onboarding.connect_number(link, CLAIM)
    assert (number.id, number.status) == (moved.id, ACTIVE)
    assert (number.phone_number_id, number.waba_id, number.access_token) == ("1001", "2002", TOKEN)
    assert Number.all(moved.account_id) == [number]
    kinds = [event.kind for event in Event.select()]
    assert kinds == ([] if status is ACTIVE else ["number.activated"])


def test_a_signup_that_fails_leaves_the_number_connected_as_it_was(
    link: SignupLink, moved: Number, platform: Platform
) -> None:
    platform.interrupt("register")
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    assert _now(moved).connection == moved.connection
    assert (_now(moved).status, _now(moved).waba_id) == (ACTIVE, "2001")


def test_the_error_of_a_send_over_the_former_identifier_only_has_the_number_checked(
    link: SignupLink, moved: Number
) -> None:
    before = _now(moved)
    onboarding.connect_number(link, CLAIM)
    number_status.apply_error(before, NumberLostError("100", "No such object"))
    assert _now(moved).status == ACTIVE


def test_a_check_of_the_former_identifier_does_not_count(link: SignupLink, moved: Number) -> None:
    with writing():
        number_status.request_checks([moved])
    claimed = Number.claim(60_000)
    assert claimed is not None
    onboarding.connect_number(link, CLAIM)
    assert not claimed.complete()


def test_a_number_whose_identifier_went_to_another_number_is_disconnected(
    link: SignupLink, moved: Number, account: Account
) -> None:
    number = factories.active_number(account, "1001", phone_number="15550003333")
    new = onboarding.connect_number(link, CLAIM)
    assert (new.id, new.status) == (moved.id, ACTIVE)
    assert (_now(number).phone_number, _now(number).status) == ("15550003333", DISCONNECTED)


def test_a_number_with_a_new_phone_number_and_its_identifier_is_the_same_number(
    link: SignupLink, account: Account, platform: Platform
) -> None:
    number = factories.active_number(account, "1001")
    platform.phones["1001"] = PHONE
    new = onboarding.connect_number(link, replace(CLAIM, waba_id="2001"))
    assert (new.id, new.phone_number) == (number.id, PHONE)


def test_another_account_with_the_phone_number_is_checked(
    link: SignupLink, platform: Platform
) -> None:
    theirs = factories.active_number(Account.open("Rival", "pro"), "1900", phone_number=PHONE)
    platform.phones["1001"] = PHONE
    onboarding.connect_number(link, replace(CLAIM, waba_id="2001"))
    assert (_now(theirs).status, _now(theirs).doubts) == (ACTIVE, 1)


def test_no_transaction_is_open_while_the_platform_is_asked(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ask = [], platform._ask

    def note(what: str) -> None:
        asked.append((what, database.in_transaction()))
        ask(what)

    monkeypatch.setattr(platform, "_ask", note)
    onboarding.connect_number(link, replace(CLAIM, waba_id="2001"))
    assert ("register", False) in asked
    assert [what for what, is_inside in asked if is_inside] == []

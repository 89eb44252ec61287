"""An interrupted signup continues when its claim is posted again (ADR 5)."""

import pytest

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.deliveries.event import Event
from models.numbers.number import Number, NumberStatus, NumberTakenError
from models.numbers.signup import Signup, SignupLink
from networks.exceptions import AmbiguousError
from services import onboarding
from tests.conftest import Clock
from tests.fake_platform import CODE, Platform

CLAIM = onboarding.SignupClaim(CODE, "1001", "2001", pin="202611")
# Each call after the code was exchanged.
CALLS = ["inspect_token", "list_numbers", "subscribe", "get_number", "register"]


class Killed(BaseException):
    """An exception that nothing catches, like the death of the process."""


def _be_killed(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch, call: str, *, after: bool
) -> None:
    """Connect a number, and die before or after this call of the platform."""
    carry_out = getattr(platform, call)

    async def die(*values: str) -> None:
        if after:
            await carry_out(*values)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(platform, call, die)
        with pytest.raises(Killed):
            onboarding.connect_number(link, CLAIM)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", CALLS)
def test_a_signup_continues_after_a_kill_at_any_call(
    link: SignupLink,
    platform: Platform,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    *,
    after: bool,
) -> None:
    _be_killed(link, platform, monkeypatch, call, after=after)
    assert [n.status for n in Number.all()] in ([], [NumberStatus.PROVISIONING])
    assert Event.select().count() == 0
    is_registered = platform.statuses["1001"] == "CONNECTED"
    platform.asked.clear()

    number = onboarding.connect_number(link, CLAIM)
    assert "exchange_code" not in platform.asked
    assert ("register" in platform.asked) is not is_registered
    assert (number.status, number.pin) == (NumberStatus.ACTIVE, platform.pin)
    assert [event.kind for event in Event.select()] == ["number.activated"]


@pytest.mark.parametrize("call", CALLS)
def test_a_signup_continues_after_the_network_did_not_respond(
    link: SignupLink, platform: Platform, call: str
) -> None:
    platform.interrupt(call)
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    platform.errors = {}
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE
    assert platform.asked.count("exchange_code") == 1
    assert len(Number.all()) == 1


def test_an_accepted_pin_is_stored_even_if_the_owner_does_not_repeat_it(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    _be_killed(link, platform, monkeypatch, "register", after=True)
    without_pin = onboarding.SignupClaim(CODE, "1001", "2001")
    assert onboarding.connect_number(link, without_pin).pin == "202611"


def test_a_complete_signup_keeps_neither_token_nor_pin(
    link: SignupLink, platform: Platform
) -> None:
    onboarding.connect_number(link, CLAIM)
    assert platform.pin == "202611"
    assert Signup.select().count() == 0


def test_a_number_whose_signup_died_is_free_for_another_account_after_a_while(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    _be_killed(link, platform, monkeypatch, "subscribe", after=False)
    rival = Account.open("Rival", "pro")
    Number.abandon_dead()
    with pytest.raises(NumberTakenError):
        Number.refuse_if_taken(rival.id, "1001")
    clock.advance(minutes=15, milliseconds=1)
    platform.codes = {"code-2"}
    claim = onboarding.SignupClaim("code-2", "1001", "2001")
    theirs = onboarding.connect_number(SignupLink.open(rival, "rival"), claim)
    assert theirs.status == NumberStatus.ACTIVE
    [mine] = Number.all(link.account_id)
    assert mine.status == NumberStatus.DISCONNECTED


def test_the_sweep_releases_the_number_of_a_dead_signup(
    link: SignupLink,
    platform: Platform,
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    state: Stored,
) -> None:
    assert state.environment
    _be_killed(link, platform, monkeypatch, "subscribe", after=True)
    clock.advance(minutes=15, milliseconds=1)
    Number.abandon_dead()
    assert [n.status for n in Number.all()] == [NumberStatus.DISCONNECTED]
    number = onboarding.connect_number(link, CLAIM)
    assert number.status == NumberStatus.ACTIVE

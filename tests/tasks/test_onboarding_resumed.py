"""A signup that stopped anywhere goes on there: finished steps are not done again (ADR 0019)."""

from collections.abc import Callable

import pytest

from contract_tests.stored import Stored
from models.account import Account
from models.event import Event
from models.number import Number, NumberStatus, NumberTakenError
from models.signup import Signup, SignupStep
from models.signup_link import SignupLink
from networks.errors import AmbiguousError
from tasks import onboarding
from tests.conftest import Clock
from tests.fake_platform import CODE, Platform

CLAIM = onboarding.SignupClaim(CODE, "1001", "2001", pin="202611")
STEPS = list(SignupStep)
RECORDED = STEPS[1:]
# What each step asks the network. A number that is registered already is not registered again.
CALLS = {
    SignupStep.EXCHANGED: ["exchange_code"],
    SignupStep.CONFIRMED: ["inspect_token", "list_numbers"],
    SignupStep.PROVISIONED: [],
    SignupStep.SUBSCRIBED: ["subscribe"],
    SignupStep.REGISTERED: ["get_number", "register"],
    SignupStep.ACTIVATED: ["get_number"],
}


class Killed(BaseException):
    """What nothing in the code catches, as nothing does when the process is killed."""


def _kill_at(
    monkeypatch: pytest.MonkeyPatch, step: SignupStep, *, after: bool
) -> Callable[[], None]:
    """Kill whoever records this step, before or after it does. Returns how to stop that."""
    record = Signup.finish

    def recorded(signup: Signup, done: SignupStep, **values: str | None) -> None:
        if done is step and not after:
            raise Killed
        record(signup, done, **values)
        if done is step:
            raise Killed

    monkeypatch.setattr(Signup, "finish", recorded)
    return lambda: monkeypatch.setattr(Signup, "finish", record)


def _calls_after(step: SignupStep, platform: Platform) -> list[str]:
    calls = [call for later in STEPS[STEPS.index(step) + 1 :] for call in CALLS[later]]
    if platform.statuses["1001"] == "CONNECTED" and "register" in calls:
        calls.remove("register")
    return calls


@pytest.mark.parametrize("after", [False, True], ids=["before it is recorded", "after"])
@pytest.mark.parametrize("step", RECORDED)
def test_a_process_that_is_killed_at_any_step_leaves_a_signup_that_goes_on(
    link: SignupLink,
    platform: Platform,
    monkeypatch: pytest.MonkeyPatch,
    step: SignupStep,
    *,
    after: bool,
) -> None:
    stop_killing = _kill_at(monkeypatch, step, after=after)
    with pytest.raises(Killed):
        onboarding.connect_number(link, CLAIM)
    stop_killing()
    assert [n.status for n in Number.all()] in ([], [NumberStatus.PROVISIONING])
    assert Event.select().count() == 0
    reached = SignupStep(Signup.get().step)
    assert STEPS.index(reached) >= STEPS.index(step) - 1, "a step that was finished is on record"
    expected = _calls_after(reached, platform)
    platform.asked.clear()

    number = onboarding.connect_number(link, CLAIM)
    assert platform.asked == expected
    assert (number.status, number.pin) == (NumberStatus.ACTIVE, platform.pin)
    assert [event.kind for event in Event.select()] == ["number.activated"]


@pytest.mark.parametrize(
    "call", ["inspect_token", "list_numbers", "subscribe", "get_number", "register"]
)
def test_a_network_that_does_not_answer_leaves_a_signup_that_goes_on(
    link: SignupLink, platform: Platform, call: str
) -> None:
    platform.interrupt(call)
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    signup = Signup.get()
    assert signup.error_code == "timeout"
    expected = _calls_after(SignupStep(signup.step), platform)
    platform.errors = {}
    platform.asked.clear()
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE
    assert platform.asked == expected
    assert "exchange_code" not in platform.asked
    assert len(Number.all()) == 1


@pytest.mark.usefixtures("platform")
def test_a_pin_that_the_platform_took_is_known_even_when_the_owner_does_not_repeat_it(
    link: SignupLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_killing = _kill_at(monkeypatch, SignupStep.REGISTERED, after=False)
    with pytest.raises(Killed):
        onboarding.connect_number(link, CLAIM)
    stop_killing()
    without_pin = onboarding.SignupClaim(CODE, "1001", "2001")
    assert onboarding.connect_number(link, without_pin).pin == "202611"


def test_a_complete_signup_keeps_neither_token_nor_pin(
    link: SignupLink, platform: Platform
) -> None:
    onboarding.connect_number(link, CLAIM)
    assert platform.pin == "202611"
    signup = Signup.get()
    assert (signup.step, signup.sealed_token, signup.sealed_pin) == ("activated", None, None)
    assert (signup.access_token, signup.pin) == ("", None)


def test_a_number_whose_signup_died_is_free_for_another_account_after_a_while(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    stop_killing = _kill_at(monkeypatch, SignupStep.SUBSCRIBED, after=False)
    with pytest.raises(Killed):
        onboarding.connect_number(link, CLAIM)
    stop_killing()
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


def test_the_sweep_lets_go_of_it_too(
    link: SignupLink,
    platform: Platform,
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    state: Stored,
) -> None:
    assert state.environment
    stop_killing = _kill_at(monkeypatch, SignupStep.SUBSCRIBED, after=True)
    with pytest.raises(Killed):
        onboarding.connect_number(link, CLAIM)
    stop_killing()
    clock.advance(minutes=15, milliseconds=1)
    Number.abandon_dead()
    assert [n.status for n in Number.all()] == [NumberStatus.DISCONNECTED]
    number = onboarding.connect_number(link, CLAIM)
    assert (number.status, platform.asked.count("subscribe")) == (NumberStatus.ACTIVE, 1)

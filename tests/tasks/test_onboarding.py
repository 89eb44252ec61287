"""Connecting a number: whatever the browser posts is only a claim (decision 22 of the design)."""

from dataclasses import dataclass, field

import pytest

from models.account import Account
from models.database import writing
from models.event import Event
from models.number import Number, NumberStatus, NumberTakenError
from models.signup_link import SignupLink
from networks.errors import AmbiguousError, RefusedError
from networks.interface import NumberProfile, OutboundMessage, Sender
from tasks import onboarding
from tests import factories

CLAIM = onboarding.SignupClaim("code-1", "1001", "2001")


@dataclass
class Platform:
    """A network that knows one business account; it keeps what it was asked."""

    status: str = "UNVERIFIED"
    status_after_registration: str = "CONNECTED"
    numbers: tuple[str, ...] = ("1000", "1001")
    asked: list[str] = field(default_factory=list)
    fails_at: str = ""

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what == self.fails_at:
            raise AmbiguousError("timeout", "No answer.")

    def _profile(self, phone_number_id: str) -> NumberProfile:
        return NumberProfile(phone_number_id, "15550001111", "Acme", self.status)

    def send(self, sender: Sender, message: OutboundMessage) -> str:
        raise NotImplementedError

    def exchange_code(self, code: str) -> str:
        self._ask("exchange_code")
        if code != CLAIM.code:
            raise RefusedError("100", "This code was used.")
        return "token-1"

    def list_numbers(self, waba_id: str, access_token: str) -> list[NumberProfile]:
        self._ask("list_numbers")
        assert access_token == "token-1"
        return [self._profile(i) for i in self.numbers] if waba_id == "2001" else []

    def subscribe(self, waba_id: str, access_token: str) -> None:
        self._ask("subscribe")
        assert (waba_id, access_token) == ("2001", "token-1")

    def register(self, sender: Sender, pin: str) -> None:
        self._ask("register")
        assert (sender.phone_number_id, len(pin)) == ("1001", 6)
        self.status = self.status_after_registration

    def get_number(self, sender: Sender) -> NumberProfile:
        self._ask("get_number")
        return self._profile(sender.phone_number_id)


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    platform = Platform()
    monkeypatch.setattr(onboarding, "get_network", lambda: platform)
    return platform


@pytest.fixture
def link(account: Account) -> SignupLink:
    return SignupLink.open(account, "acme")


def _kinds() -> list[str]:
    return [event.kind for event in Event.select().order_by(Event.id)]


def _why_closed(link: SignupLink) -> str | None:
    found = SignupLink.find(link.slug)
    assert found is not None
    return found.why_closed()


def test_a_signup_ends_in_an_active_number_and_its_event(
    link: SignupLink, platform: Platform
) -> None:
    number = onboarding.connect_number(link, CLAIM)
    assert (number.status, number.account_id) == (NumberStatus.ACTIVE, link.account_id)
    assert (number.phone_number, number.access_token) == ("15550001111", "token-1")
    assert _kinds() == ["number.activated"]
    assert _why_closed(link) == "used"
    assert platform.asked.index("subscribe") < platform.asked.index("register")


def test_a_number_that_is_ready_is_not_registered_again(
    link: SignupLink, platform: Platform
) -> None:
    platform.status = "CONNECTED"
    onboarding.connect_number(link, CLAIM)
    assert "register" not in platform.asked


@pytest.mark.parametrize(
    "claim",
    [
        onboarding.SignupClaim("code-1", "9999", "2001"),
        onboarding.SignupClaim("code-1", "1001", "9"),
    ],
)
def test_a_claim_that_the_token_does_not_bear_out_is_refused(
    link: SignupLink, platform: Platform, claim: onboarding.SignupClaim
) -> None:
    with pytest.raises(onboarding.ClaimRefusedError, match="has no number"):
        onboarding.connect_number(link, claim)
    assert Number.all() == []
    assert "register" not in platform.asked
    assert _why_closed(link) is None


def test_a_number_of_another_account_is_refused_before_the_code_is_spent(
    link: SignupLink, platform: Platform
) -> None:
    factories.active_number(Account.open("Rival", "pro"))
    with pytest.raises(NumberTakenError):
        onboarding.connect_number(link, CLAIM)
    assert platform.asked == []


def test_a_number_that_does_not_get_ready_is_not_activated(
    link: SignupLink, platform: Platform
) -> None:
    platform.status_after_registration = "PENDING"
    with pytest.raises(onboarding.ClaimRefusedError, match="PENDING"):
        onboarding.connect_number(link, CLAIM)
    [number] = Number.all()
    assert (number.status, _kinds()) == (NumberStatus.DISCONNECTED, [])
    assert _why_closed(link) is None


def test_a_signup_that_failed_keeps_no_other_account_from_the_number(
    link: SignupLink, platform: Platform
) -> None:
    platform.fails_at = "register"
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    platform.fails_at = ""
    rival = Account.open("Rival", "pro")
    number = onboarding.connect_number(SignupLink.open(rival, "rival"), CLAIM)
    assert (number.account_id, number.status) == (rival.id, NumberStatus.ACTIVE)


@pytest.mark.parametrize(
    "step", ["exchange_code", "list_numbers", "subscribe", "get_number", "register"]
)
def test_a_signup_that_the_network_interrupts_can_be_done_again(
    link: SignupLink, platform: Platform, step: str
) -> None:
    platform.fails_at = step
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    assert (_why_closed(link), _kinds()) == (None, [])
    platform.fails_at = ""
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE
    assert len(Number.all()) == 1


def test_a_link_that_was_used_meanwhile_activates_nothing(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = factories.active_number(Account.get_by_id(link.account_id), "1000")

    def be_overtaken(_waba_id: str, _token: str) -> None:
        with writing():
            link.use(other)

    monkeypatch.setattr(platform, "subscribe", be_overtaken)
    with pytest.raises(onboarding.LinkSpentError):
        onboarding.connect_number(link, CLAIM)
    number = Number.find_of(link.account_id, "1001")
    assert number is not None
    assert (number.status, _kinds()) == (NumberStatus.DISCONNECTED, [])


def test_of_two_accounts_that_had_the_number_before_one_gets_it_back(
    link: SignupLink, account: Account, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither signup reserves the number, because both accounts have their old, disconnected row."""
    rival = Account.open("Rival", "pro")
    theirs = factories.active_number(rival)
    with writing():
        theirs.move_to(NumberStatus.DISCONNECTED)
        mine = factories.active_number(account)
        mine.move_to(NumberStatus.DISCONNECTED)

    def be_overtaken(_waba_id: str, _token: str) -> None:
        with writing():
            theirs.move_to(NumberStatus.ACTIVE)

    monkeypatch.setattr(platform, "subscribe", be_overtaken)
    with pytest.raises(NumberTakenError):
        onboarding.connect_number(link, CLAIM)
    assert Number.find_connected("1001") == theirs
    assert (_why_closed(link), _kinds()) == (None, [])


@pytest.mark.usefixtures("platform")
def test_a_number_that_was_disconnected_is_activated_again(
    link: SignupLink, account: Account
) -> None:
    first = onboarding.connect_number(link, CLAIM)
    with writing():
        first.move_to(NumberStatus.DISCONNECTED)
    again = onboarding.connect_number(SignupLink.open(account, "again"), CLAIM)
    assert (again.id, again.status) == (first.id, NumberStatus.ACTIVE)
    assert _kinds() == ["number.activated", "number.activated"]

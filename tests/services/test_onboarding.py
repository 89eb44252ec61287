"""Connecting a number: the browser's data are only a claim until the platform confirms them."""

from dataclasses import replace

import pytest

from models.accounts.account import Account
from models.database import database, writing
from models.deliveries.event import Event
from models.numbers.number import Number, NumberStatus, NumberTakenError
from models.numbers.signup import Signup, SignupLink
from networks.exceptions import AmbiguousError, RefusedError
from services import onboarding
from tests import factories
from tests.conftest import Clock
from tests.fake_platform import CODE, SCOPES, TOKEN, Platform

CLAIM = onboarding.SignupClaim(CODE, "1001", "2001")


def _kinds() -> list[str]:
    return [event.kind for event in Event.select().order_by(Event.id)]


def _why_closed(link: SignupLink) -> str | None:
    found = SignupLink.find(link.slug)
    assert found is not None
    return found.why_closed()


def test_a_link_that_is_open_can_be_opened(link: SignupLink) -> None:
    assert onboarding.open_link(link.slug).account.name == "Acme"


def test_a_link_that_does_not_exist_is_unknown(account: Account) -> None:
    assert account.id
    with pytest.raises(onboarding.LinkUnknownError, match="no signup link acme"):
        onboarding.open_link("acme")


def test_a_closed_link_says_why(link: SignupLink, number: Number, clock: Clock) -> None:
    revoked, expired = (SignupLink.open(link.account, slug) for slug in ("revoked", "expired"))
    with writing():
        link.use(number)
    revoked.revoke()
    clock.advance(days=7)
    for slug, reason in (("acme", "used"), ("revoked", "revoked"), (expired.slug, "expired")):
        with pytest.raises(onboarding.LinkClosedError) as closed:
            onboarding.open_link(slug)
        assert closed.value.reason == reason


def test_a_signup_ends_in_an_active_number_and_its_event(
    link: SignupLink, platform: Platform
) -> None:
    number = onboarding.connect_number(link, CLAIM)
    assert (number.status, number.account_id) == (NumberStatus.ACTIVE, link.account_id)
    assert (number.phone_number, number.access_token) == ("15550001111", TOKEN)
    assert number.pin == platform.pin
    assert _kinds() == ["number.activated"]
    assert _why_closed(link) == "used"
    assert platform.asked == [
        *("exchange_code", "inspect_token", "list_numbers", "subscribe"),
        *("get_number", "register", "get_number"),
    ]


def test_a_number_that_is_ready_is_not_registered_again(
    link: SignupLink, platform: Platform
) -> None:
    platform.statuses["1001"] = "CONNECTED"
    onboarding.connect_number(link, CLAIM)
    assert "register" not in platform.asked


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (replace(CLAIM, phone_number_id="9999"), "has no number 9999"),
        (replace(CLAIM, waba_id="9"), "did not grant the business account 9"),
    ],
)
def test_a_claim_that_the_token_does_not_confirm_is_refused(
    link: SignupLink, platform: Platform, claim: onboarding.SignupClaim, why: str
) -> None:
    with pytest.raises(onboarding.SignupError, match=why):
        onboarding.connect_number(link, claim)
    assert Number.all() == []
    assert "subscribe" not in platform.asked
    assert _why_closed(link) is None


def test_without_granular_scopes_the_accounts_list_is_the_proof(
    link: SignupLink, platform: Platform
) -> None:
    platform.grant = replace(platform.grant, waba_ids=None)
    with pytest.raises(onboarding.SignupError, match="has no number"):
        onboarding.connect_number(link, replace(CLAIM, waba_id="9"))
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE


@pytest.mark.parametrize("scope", sorted(SCOPES))
def test_a_token_without_a_needed_scope_is_refused(
    link: SignupLink, platform: Platform, scope: str
) -> None:
    platform.grant = replace(platform.grant, missing=(scope,))
    with pytest.raises(onboarding.SignupError, match=scope):
        onboarding.connect_number(link, CLAIM)


def test_a_token_of_another_app_is_refused(link: SignupLink, platform: Platform) -> None:
    platform.grant = replace(platform.grant, is_valid=False)
    with pytest.raises(onboarding.SignupError, match="a valid token"):
        onboarding.connect_number(link, CLAIM)


def test_a_corrected_claim_needs_no_new_code(link: SignupLink, platform: Platform) -> None:
    with pytest.raises(onboarding.SignupError):
        onboarding.connect_number(link, replace(CLAIM, phone_number_id="9999"))
    assert onboarding.connect_number(link, CLAIM).phone_number_id == "1001"
    assert platform.asked.count("exchange_code") == 1


def test_a_number_of_another_account_is_refused_before_the_code_is_spent(
    link: SignupLink, platform: Platform
) -> None:
    factories.active_number(Account.open("Rival", "pro"))
    with pytest.raises(NumberTakenError):
        onboarding.connect_number(link, CLAIM)
    assert platform.asked == []


def test_a_refused_code_is_distinguished_from_other_errors(
    link: SignupLink, platform: Platform
) -> None:
    with pytest.raises(onboarding.CodeExpiredError, match="Start the signup again"):
        onboarding.connect_number(link, replace(CLAIM, code="of-yesterday"))
    platform.interrupt("exchange_code")
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)


@pytest.mark.usefixtures("platform")
def test_the_slower_of_two_concurrent_posts_of_a_claim_uses_the_token_of_the_faster(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def be_overtaken(code: str) -> str:
        Signup.begin(link, code, TOKEN)
        raise RefusedError("100", "This authorization code has been used.")

    monkeypatch.setattr(platform, "exchange_code", be_overtaken)
    assert onboarding.connect_number(link, CLAIM).status == NumberStatus.ACTIVE


def test_a_number_that_does_not_get_ready_is_not_activated(
    link: SignupLink, platform: Platform
) -> None:
    platform.status_after_registration = "PENDING"
    with pytest.raises(onboarding.SignupError, match="PENDING"):
        onboarding.connect_number(link, CLAIM)
    [number] = Number.all()
    assert (number.status, _kinds()) == (NumberStatus.DISCONNECTED, [])
    assert _why_closed(link) is None


def test_a_signup_that_failed_keeps_no_other_account_from_the_number(
    link: SignupLink, platform: Platform
) -> None:
    platform.interrupt("register")
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    platform.errors = {}
    platform.codes = {"code-2"}
    rival = Account.open("Rival", "pro")
    claim = replace(CLAIM, code="code-2")
    number = onboarding.connect_number(SignupLink.open(rival, "rival"), claim)
    assert (number.account_id, number.status) == (rival.id, NumberStatus.ACTIVE)
    with pytest.raises(NumberTakenError):
        onboarding.connect_number(link, CLAIM)


def test_a_new_code_for_the_same_link_and_number_takes_over(
    link: SignupLink, platform: Platform
) -> None:
    platform.interrupt("register")
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, CLAIM)
    platform.errors = {}
    platform.codes = {"code-2"}
    number = onboarding.connect_number(link, replace(CLAIM, code="code-2"))
    assert Signup.select().count() == 0, "nobody needs the first code's token any more"
    assert Number.all() == [number]


def test_a_link_that_was_used_meanwhile_activates_nothing(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = factories.active_number(Account.get_by_id(link.account_id), "1000")

    async def be_overtaken(_waba_id: str, _token: str) -> None:
        with writing():
            link.use(other)

    monkeypatch.setattr(platform, "subscribe", be_overtaken)
    with pytest.raises(onboarding.LinkClosedError, match="used"):
        onboarding.connect_number(link, CLAIM)
    number = Number.get(Number.phone_number_id == "1001")
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

    async def be_overtaken(_waba_id: str, _token: str) -> None:
        with writing():
            theirs.move_to(NumberStatus.ACTIVE)

    monkeypatch.setattr(platform, "subscribe", be_overtaken)
    with pytest.raises(NumberTakenError):
        onboarding.connect_number(link, CLAIM)
    assert Number.find_connected("1001") == theirs
    assert (_why_closed(link), _kinds()) == (None, [])


def test_a_number_that_was_disconnected_is_activated_again(
    link: SignupLink, account: Account, platform: Platform
) -> None:
    first = onboarding.connect_number(link, CLAIM)
    with writing():
        first.move_to(NumberStatus.DISCONNECTED)
    platform.codes = {"code-2"}
    claim = replace(CLAIM, code="code-2")
    again = onboarding.connect_number(SignupLink.open(account, "again"), claim)
    assert (again.id, again.status) == (first.id, NumberStatus.ACTIVE)
    assert _kinds() == ["number.activated", "number.activated"]


def test_code_token_and_pin_are_encrypted_at_rest_and_not_in_the_repr(
    link: SignupLink, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fake_platform.TOKEN", "EAA-plain")
    platform.codes = {"plain-code"}
    platform.interrupt("get_number")
    claim = replace(CLAIM, code="plain-code", pin="918273")
    with pytest.raises(AmbiguousError):
        onboarding.connect_number(link, claim)
    rows = str(database.execute_sql("SELECT * FROM signup").fetchall())
    assert Signup.select().count() == 1
    for plain in ("plain-code", "EAA-plain", "918273"):
        assert plain not in rows + repr(claim)

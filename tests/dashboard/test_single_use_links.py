"""Single-use links: invitations and new passwords."""

import re

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from models.accounts.account import Account
from models.accounts.invitation import Invitation
from models.accounts.password import PasswordReset
from models.accounts.user import Role, User
from models.accounts.user_session import UserSession
from tests.conftest import Clock
from tests.dashboard.world import browser_of, form_token
from tests.mail_server import MailServer
from tests.people import PASSWORD, app_code, member, with_two_factor

NEW = "a password of one's own"


@pytest.fixture
def owner(account: Account) -> User:
    """The account's owner."""
    return member(account, Role.OWNER)


def _choose(
    browser: FlaskClient, path: str, password: str = NEW, again: str | None = None
) -> TestResponse:
    form = {"password": password, "again": password if again is None else again}
    return browser.post(path, data={"csrf_token": form_token(browser, path), **form})


def _mailed(mail: MailServer, owner: User, path: str, **form: str) -> str:
    """The path of the link that is mailed when a form is submitted."""
    browser = browser_of(owner)
    answer = browser.post(path, data={"csrf_token": form_token(browser), **form})
    assert answer.status_code == 303
    return mail.link


def _opened(owner: User, kind: str) -> str:
    """The token of a new link."""
    if kind == "password":
        return PasswordReset.open(owner)
    account = Account.get_by_id(owner.account_id)
    return Invitation.open(account, "guest@example.com", Role.AGENT)[1]


def test_an_invited_person_chooses_a_password_and_is_signed_in(
    owner: User, mail: MailServer
) -> None:
    path = _mailed(mail, owner, "/dashboard/users", email="Guest@Example.com", role="agent")
    visitor = browser_of(None)
    shown = visitor.get(path)
    assert "guest@example.com" in shown.text
    assert "invited as agent" in shown.text
    assert shown.headers["Referrer-Policy"] == "strict-origin"
    answer = _choose(visitor, path)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/")
    home = visitor.get("/dashboard/").text
    assert "guest@example.com" in home
    assert 'href="/dashboard/users"' not in home
    assert User.person("guest@example.com")


@pytest.mark.parametrize("kind", ["invitation", "password"])
def test_a_weak_password_leaves_the_link_open(owner: User, kind: str) -> None:
    path = f"/dashboard/{kind}/{_opened(owner, kind)}"
    refused = _choose(browser_of(None), path, "password1234")
    assert refused.status_code == 422
    assert 'id="problem"' in refused.text
    assert _choose(browser_of(None), path).status_code == 303


def test_the_strength_of_a_password_is_shown_while_it_is_typed(owner: User) -> None:
    path, visitor = f"/dashboard/invitation/{_opened(owner, 'invitation')}", browser_of(None)
    token, strength = form_token(visitor, path), "/dashboard/password-strength"

    def shown(password: str) -> str:
        form = {"csrf_token": token, "email": "guest@example.com", "password": password}
        return visitor.post(strength, data=form).text

    assert "Strength: strong" in shown("quiet lantern orchard")
    assert "Strength: very weak" in shown("guest@example.com")
    assert "Too short" in shown("x" * 11)
    assert "Too long" in shown("quiet lantern orchard" + "x" * 108)
    assert visitor.post(strength, data={"password": "x"}).status_code == 403


def test_opening_a_link_does_not_use_it_and_accepting_closes_it(
    owner: User, mail: MailServer
) -> None:
    path = _mailed(mail, owner, "/dashboard/users", email="guest@example.com", role="viewer")
    assert [browser_of(None).get(path).status_code for _ in range(3)] == [200] * 3
    late = browser_of(None)
    token = form_token(late, path)
    _choose(browser_of(None), path)
    assert browser_of(None).get(path).status_code == 404
    form = {"csrf_token": token, "password": NEW, "again": NEW}
    closed = late.post(path, data=form)
    assert closed.status_code == 404
    assert "This link is closed" in closed.text


@pytest.mark.parametrize("kind", ["invitation", "password"])
def test_an_unknown_link_gets_the_same_response_as_a_closed_one(owner: User, kind: str) -> None:
    opened = _opened(owner, kind)
    _choose(browser_of(None), f"/dashboard/{kind}/{opened}")
    answers = [browser_of(None).get(f"/dashboard/{kind}/{token}") for token in (opened, "x" * 43)]
    used, unknown = (re.sub(r'nonce="[^"]+"', "", answer.text) for answer in answers)
    assert used == unknown
    assert [answer.status_code for answer in answers] == [404, 404]


@pytest.mark.parametrize(
    ("password", "again", "problem"),
    [
        ("elevenchars", None, "12 to 128 characters"),
        ("x" * 129, None, "12 to 128 characters"),
        (NEW, "another one again", "passwords differ"),
    ],
)
def test_an_invalid_password_is_requested_again(
    owner: User, mail: MailServer, password: str, again: str | None, problem: str
) -> None:
    for path in (
        _mailed(mail, owner, "/dashboard/users", email="guest@example.com", role="viewer"),
        f"/dashboard/password/{PasswordReset.open(owner)}",
    ):
        answer = _choose(browser_of(None), path, password, again)
        assert answer.status_code == 422
        assert problem in answer.text
        assert browser_of(None).get(path).status_code == 200


@pytest.mark.parametrize("has_factor", [False, True])
def test_a_known_person_joins_with_password_and_code(
    owner: User, mail: MailServer, clock: Clock, *, has_factor: bool
) -> None:
    guest = member(Account.open("Other", "pro"), Role.OWNER, "guest")
    if has_factor:
        with_two_factor(guest)
        clock.advance(minutes=1)
    path = _mailed(mail, owner, "/dashboard/users", email=guest.email, role="viewer")
    visitor = browser_of(None)
    form = {"csrf_token": form_token(visitor, path), "password": PASSWORD}
    assert ('name="code"' in visitor.get(path).text) is has_factor
    assert visitor.post(path, data={**form, "password": NEW}).status_code == 422
    if has_factor:
        assert visitor.post(path, data=form).status_code == 422
        form["code"] = app_code(guest)
    assert visitor.post(path, data=form).headers["Location"] == "/dashboard/"
    home = visitor.get("/dashboard/").text
    assert "<small>Acme</small>" in home
    assert 'href="/dashboard/accounts"' in home
    assert browser_of(None).get(path).status_code == 404
    assert User.authenticate(guest.email, PASSWORD)


def test_a_password_of_a_known_person_is_not_guessed_with_an_invitation(
    owner: User, mail: MailServer
) -> None:
    guest = member(Account.open("Other", "pro"), Role.OWNER, "guest")
    path = _mailed(mail, owner, "/dashboard/users", email=guest.email, role="viewer")
    visitor = browser_of(None)
    form = {"csrf_token": form_token(visitor, path), "password": NEW}
    statuses = [visitor.post(path, data=form).status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]


def test_a_form_without_its_token_uses_no_link(owner: User) -> None:
    path = f"/dashboard/password/{PasswordReset.open(owner)}"
    form = {"password": NEW, "again": NEW}
    assert browser_of(None).post(path, data=form).status_code == 403
    assert browser_of(None).get(path).status_code == 200


def test_a_signed_in_user_who_accepts_gets_the_new_users_session(
    owner: User, mail: MailServer
) -> None:
    path = _mailed(mail, owner, "/dashboard/users", email="guest@example.com", role="viewer")
    browser = browser_of(owner)
    _choose(browser, path)
    assert "guest@example.com" in browser.get("/dashboard/").text
    # The second session is the one that created the invitation.
    assert len(UserSession.of(owner)) == 1


def test_a_new_password_by_link_ends_all_sessions_and_signs_nobody_in(
    account: Account, owner: User, mail: MailServer
) -> None:
    user = member(account, Role.AGENT)
    theirs = browser_of(user)
    path = _mailed(mail, owner, f"/dashboard/users/{user.id}/reset")
    visitor = browser_of(None)
    answer = _choose(visitor, path)
    assert answer.headers["Location"] == "/dashboard/sign-in"
    assert "gateway_session" not in " ".join(answer.headers.getlist("Set-Cookie"))
    assert theirs.get("/dashboard/").status_code == 303
    assert User.authenticate(user.email, NEW) == [user]


def test_after_a_password_reset_the_code_is_still_required(
    account: Account, owner: User, mail: MailServer, clock: Clock
) -> None:
    user = member(account, Role.AGENT)
    with_two_factor(user)
    clock.advance(minutes=1)
    path = _mailed(mail, owner, f"/dashboard/users/{user.id}/reset")
    browser = browser_of(None)
    _choose(browser, path)
    sign_in = "/dashboard/sign-in"
    form = {"email": user.email, "password": NEW, "csrf_token": form_token(browser, sign_in)}
    answer = browser.post(sign_in, data=form)
    assert answer.headers["Location"].startswith("/dashboard/sign-in/code")
    assert browser.get("/dashboard/").status_code == 303
    code = {"code": app_code(user), "csrf_token": form_token(browser, f"{sign_in}/code")}
    assert browser.post(f"{sign_in}/code", data=code).headers["Location"] == "/dashboard/"
    assert browser.get("/dashboard/").status_code == 200

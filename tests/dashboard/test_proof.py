"""A new key, an invitation and the end of a session need the password again, an hour after the last time."""

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from models.accounts.account import Account, ApiKey
from models.accounts.invitation import Invitation
from models.accounts.user import User
from models.accounts.user_session import UserSession
from tests.conftest import Clock
from tests.dashboard.world import browser_of, form_token
from tests.people import PASSWORD, app_code, with_two_factor

KEYS, USERS, YOU = "/dashboard/keys", "/dashboard/users", "/dashboard/you"
pytestmark = pytest.mark.usefixtures("mail")
# An invitation leads back to the page, a key is shown.
DONE = {KEYS: 200, USERS: 303}
FORMS = {KEYS: {"name": "A key"}, USERS: {"email": "guest@example.com", "role": "agent"}}


def _submit(browser: FlaskClient, path: str, proof: str = "") -> TestResponse:
    form = {"csrf_token": form_token(browser, path), "proof": proof, **FORMS[path]}
    return browser.post(path, data=form)


def _use(browser: FlaskClient, clock: Clock, minutes: float) -> None:
    """Let time pass in a session that does not end for lack of use."""
    for _ in range(3):
        clock.advance(minutes=minutes / 3)
        assert browser.get(KEYS).status_code == 200


def _made() -> int:
    return int(ApiKey.select().count() + Invitation.select().count())


@pytest.mark.parametrize("path", FORMS)
def test_an_old_session_gives_the_password_again(user: User, clock: Clock, path: str) -> None:
    browser = browser_of(user)
    _use(browser, clock, 59.9)
    assert 'name="proof"' not in browser.get(path).text
    assert _submit(browser, path).status_code == DONE[path]
    _use(browser, clock, 0.1)
    made = _made()
    assert 'name="proof"' in browser.get(path).text
    for wrong in ("", "wrong", "000000"):
        refused = _submit(browser, path, wrong)
        assert (refused.status_code, _made()) == (422, made)
        assert 'id="problem-proof"' in refused.text
        assert FORMS[path].get("name", "guest@example.com") in refused.text
    assert _submit(browser, path, PASSWORD).status_code == DONE[path]
    _use(browser, clock, 59.9)
    assert _submit(browser, path).status_code == DONE[path]


@pytest.mark.parametrize("path", ["/revoke", "/{}/revoke"])
def test_an_old_session_ends_others_with_the_password_only(
    user: User, clock: Clock, path: str
) -> None:
    browser = browser_of(user)
    _use(browser, clock, 60)
    browser_of(user)
    path = f"{YOU}/sessions{path.format(UserSession.of(user)[0].id)}"
    assert 'name="proof"' in browser.get(YOU).text
    for wrong in ("", "wrong"):
        form = {"csrf_token": form_token(browser, YOU), "proof": wrong}
        refused = browser.post(path, data=form)
        assert (refused.status_code, len(UserSession.of(user))) == (422, 2)
        assert 'id="problem-proof"' in refused.text
    form = {"csrf_token": form_token(browser, YOU), "proof": PASSWORD}
    assert browser.post(path, data=form).status_code == 303
    assert len(UserSession.of(user)) == 1


def test_wrong_passwords_lock_out_like_those_of_a_sign_in(user: User, clock: Clock) -> None:
    browser = browser_of(user)
    _use(browser, clock, 60)
    assert [_submit(browser, KEYS, "wrong").status_code for _ in range(5)] == [422] * 5
    assert _submit(browser, KEYS, PASSWORD).status_code == 429
    visitor = browser_of(None)
    form = {"csrf_token": form_token(visitor, "/dashboard/sign-in"), "email": user.email}
    answer = visitor.post("/dashboard/sign-in", data={**form, "password": PASSWORD})
    assert answer.status_code == 429


def test_a_stolen_session_guesses_from_many_addresses_ten_times(user: User, clock: Clock) -> None:
    browser = browser_of(user)
    _use(browser, clock, 60)
    token = form_token(browser)
    answers = [
        browser.post(
            KEYS,
            data={"csrf_token": token, "proof": "wrong", "name": "A key"},
            environ_base={"REMOTE_ADDR": f"192.0.2.{place}"},
        ).status_code
        for place in range(11)
    ]
    assert answers == [422] * 10 + [429]


def test_a_code_of_the_app_is_enough_once(account: Account, user: User, clock: Clock) -> None:
    with_two_factor(user)
    browsers = [browser_of(user) for _ in range(2)]
    for _ in range(3):
        clock.advance(minutes=20)
        assert [browser.get(KEYS).status_code for browser in browsers] == [200, 200]
    code = app_code(user)
    assert [_submit(browser, KEYS, code).status_code for browser in browsers] == [200, 422]
    assert len(ApiKey.all(account.id)) == 1

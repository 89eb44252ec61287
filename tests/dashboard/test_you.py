"""The user's own page: password, sessions, two-factor authentication and the sign-in with it."""

import re

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard.signing_in import shortened
from models.accounts.account import Account
from models.accounts.password import replace_password
from models.accounts.user import Role, User
from models.accounts.user_session import UserSession
from models.database import writing
from tests.conftest import Clock
from tests.dashboard.world import browser_of, form_token
from tests.people import PASSWORD, app_code, elsewhere, member, with_two_factor

YOU, FACTOR = "/dashboard/you", "/dashboard/you/two-factor"
SIGN_IN, CODE = "/dashboard/sign-in", "/dashboard/sign-in/code"
ACCOUNT, ACCOUNTS = "/dashboard/sign-in/account", "/dashboard/accounts"
NEW = "a password of one's own"


@pytest.fixture
def user(account: Account) -> User:
    """A viewer, because every role has this page."""
    return member(account, Role.VIEWER)


@pytest.fixture
def browser(user: User) -> FlaskClient:
    """A browser in which the user is signed in."""
    return browser_of(user)


def _post(browser: FlaskClient, path: str, page: str = YOU, **form: str) -> TestResponse:
    return browser.post(path, data={"csrf_token": form_token(browser, page), **form})


def _change(browser: FlaskClient, present: str) -> TestResponse:
    return _post(browser, YOU, present=present, password=NEW, again=NEW)


def _by_password(user: User, target: str = "", password: str = PASSWORD) -> FlaskClient:
    """A visitor who has entered the password."""
    visitor = browser_of(None)
    form = {"email": user.email, "password": password, "next": target}
    assert _post(visitor, SIGN_IN, SIGN_IN, **form).status_code == 303
    return visitor


def test_a_new_password_needs_the_old_one_and_ends_other_sessions(
    user: User, browser: FlaskClient
) -> None:
    elsewhere = browser_of(user)
    assert "current password is wrong" in _change(browser, "wrong").text
    assert elsewhere.get(YOU).status_code == 200
    assert _change(browser, PASSWORD).status_code == 303
    assert browser.get(YOU).status_code == 200
    assert elsewhere.get(YOU).status_code == 303
    assert User.authenticate(user.email, NEW) == [user]


def test_a_password_that_the_operator_made_asks_for_another_one(
    user: User, browser: FlaskClient
) -> None:
    pages = [YOU, "/dashboard/"]
    shown = "The operator set your password"
    assert [shown in browser.get(page).text for page in pages] == [False, False]
    with writing():
        replace_password(user, user.password_hash, is_initial=True)
    browser = browser_of(user)
    assert [shown in browser.get(page).text for page in pages] == [True, True]
    assert _change(browser, PASSWORD).status_code == 303
    assert [shown in browser.get(page).text for page in pages] == [False, False]


def test_a_weak_new_password_is_refused(user: User, browser: FlaskClient) -> None:
    form = {"present": PASSWORD, "password": "password1234", "again": "password1234"}
    assert _post(browser, YOU, **form).status_code == 422
    assert User.authenticate(user.email, PASSWORD) == [user]


def test_the_old_password_is_not_guessed_for_ever(browser: FlaskClient, clock: Clock) -> None:
    assert clock.at
    answers = [_change(browser, "wrong").status_code for _ in range(6)]
    assert answers == [422] * 5 + [429]
    assert _change(browser, PASSWORD).headers["Retry-After"] == "900"


def test_sessions_are_listed_with_browser_and_address(user: User, browser: FlaskClient) -> None:
    UserSession.begin(user, "192.0.2.7", "Firefox on Linux")
    page = browser.get(YOU).text
    for said in ("192.0.2.7", "Firefox on Linux", "this session"):
        assert said in page


def test_a_session_is_ended_alone_or_all_others_at_once(user: User, browser: FlaskClient) -> None:
    others = [browser_of(user) for _ in range(3)]
    newest = UserSession.of(user)[0]
    assert _post(browser, f"{YOU}/sessions/{newest.id}/revoke").status_code == 303
    assert [each.get(YOU).status_code for each in others] == [200, 200, 303]
    assert _post(browser, f"{YOU}/sessions/revoke").status_code == 303
    assert [each.get(YOU).status_code for each in others] == [303] * 3
    assert browser.get(YOU).status_code == 200


def test_a_session_of_another_user_is_not_found(account: Account, browser: FlaskClient) -> None:
    other = member(account, Role.OWNER)
    theirs = browser_of(other)
    [row] = UserSession.of(other)
    assert _post(browser, f"{YOU}/sessions/{row.id}/revoke").status_code == 404
    assert theirs.get(YOU).status_code == 200


def test_two_factor_is_turned_on_with_the_apps_code(user: User, browser: FlaskClient) -> None:
    elsewhere = browser_of(user)
    assert _post(browser, f"{FACTOR}/secret").status_code == 303
    page = browser.get(FACTOR).text
    assert '<div class="qr">' in page
    assert re.search(r'<code id="secret">[A-Z2-7]{32}</code>', page)
    for present, code in ((PASSWORD, "000000"), ("wrong", app_code(user))):
        assert _post(browser, FACTOR, present=present, code=code).status_code == 422
        assert not User.get_by_id(user.id).has_two_factor
    shown = _post(browser, FACTOR, present=PASSWORD, code=app_code(user)).text
    assert len(re.findall(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}", shown)) == 10
    # An earlier session did not start with a code.
    assert elsewhere.get(YOU).status_code == 303
    assert '<div class="qr">' not in browser.get(FACTOR).text


def test_two_factor_is_turned_off_with_password_and_code(
    user: User, browser: FlaskClient, clock: Clock
) -> None:
    with_two_factor(user)
    clock.advance(minutes=1)
    off = f"{FACTOR}/off"
    wrong = [("wrong", app_code(user)), (PASSWORD, "000000"), (PASSWORD, "")]
    for present, code in wrong:
        assert _post(browser, off, present=present, code=code).status_code == 422
        assert User.get_by_id(user.id).has_two_factor
    assert _post(browser, off, present=PASSWORD, code=app_code(user)).status_code == 303
    assert not User.get_by_id(user.id).has_two_factor


def test_a_code_does_not_replace_the_password(
    user: User, browser: FlaskClient, clock: Clock
) -> None:
    """Otherwise somebody with the user's phone and an open browser could lock the user out."""
    with_two_factor(user)
    clock.advance(minutes=1)
    assert "current password is wrong" in _change(browser, app_code(user)).text
    assert User.authenticate(user.email, PASSWORD) == [User.get_by_id(user.id)]


def test_attempts_at_the_code_are_limited_even_with_session_and_password(
    user: User, browser: FlaskClient, clock: Clock
) -> None:
    with_two_factor(user)
    clock.advance(minutes=1)
    form = {"present": PASSWORD, "code": "000000"}
    answers = [_post(browser, f"{FACTOR}/off", **form).status_code for _ in range(12)]
    assert answers == [422] * 10 + [429] * 2


@pytest.mark.parametrize("target", ["", "/dashboard/webhooks", "https://elsewhere.example/"])
def test_the_password_opens_only_the_form_for_the_code(
    user: User, clock: Clock, target: str
) -> None:
    with_two_factor(user)
    clock.advance(minutes=1)
    visitor = _by_password(user, target)
    for path in ("/dashboard/", YOU, FACTOR, "/dashboard/messages"):
        assert visitor.get(path).headers["Location"].startswith(SIGN_IN)
    assert UserSession.of(user) == []
    assert _post(visitor, CODE, CODE, code="000000", next=target).status_code == 422
    answer = _post(visitor, CODE, CODE, code=app_code(user), next=target)
    expected = target if target.startswith("/dashboard/") else "/dashboard/"
    assert answer.headers["Location"] == expected
    assert visitor.get(YOU).status_code == 200


def test_a_code_signs_in_once(user: User, clock: Clock) -> None:
    with_two_factor(user)
    clock.advance(minutes=1)
    first, second = _by_password(user), _by_password(user)
    code = app_code(user)
    assert _post(first, CODE, CODE, code=code).status_code == 303
    assert _post(second, CODE, CODE, code=code).status_code == 422
    assert second.get(YOU).status_code == 303


def test_the_token_of_the_second_step_works_in_its_browser_only(user: User, clock: Clock) -> None:
    with_two_factor(user)
    clock.advance(minutes=1)
    cookie = _by_password(user).get_cookie("gateway_pending")
    assert cookie is not None
    thief = browser_of(None)
    token = form_token(thief, SIGN_IN)
    thief.set_cookie("gateway_pending", cookie.value)
    answer = thief.post(CODE, data={"csrf_token": token, "code": app_code(user)})
    assert answer.headers["Location"] == SIGN_IN
    thief.set_cookie("gateway_session", cookie.value)
    assert thief.get(YOU).status_code == 303


def test_the_second_step_without_the_first_leads_there(user: User) -> None:
    assert user.id
    assert browser_of(None).get(CODE).headers["Location"] == SIGN_IN
    visitor = browser_of(None)
    answer = _post(visitor, CODE, SIGN_IN, code="000000")
    assert answer.headers["Location"] == SIGN_IN
    assert "took too long" in visitor.get(SIGN_IN).text


def test_a_sign_in_always_starts_a_new_session(user: User, clock: Clock) -> None:
    with_two_factor(user)
    clock.advance(minutes=1)
    visitor = _by_password(user)
    visitor.set_cookie("gateway_session", "chosen-by-somebody-else")
    _post(visitor, CODE, CODE, code=app_code(user))
    cookie = visitor.get_cookie("gateway_session")
    assert cookie is not None
    assert cookie.value != "chosen-by-somebody-else"
    assert visitor.get_cookie("gateway_pending") is None


def test_a_person_with_several_accounts_chooses_one_and_switches(user: User) -> None:
    there = elsewhere(user)
    visitor = _by_password(user, "/dashboard/webhooks")
    page = visitor.get(ACCOUNT)
    assert page.status_code == 200
    assert UserSession.of(user) == []
    form = {"user_id": there.id, "next": "/dashboard/webhooks"}
    assert _post(visitor, ACCOUNT, ACCOUNT, **form).headers["Location"] == "/dashboard/webhooks"
    home = visitor.get("/dashboard/")
    assert "<small>Other</small>" in home.text
    stale = {"csrf_token": form_token(visitor), "name": "key"}
    assert _post(visitor, ACCOUNTS, ACCOUNTS, user_id=user.id).status_code == 303
    assert "<small>Acme</small>" in visitor.get("/dashboard/").text
    # A form of the other account changes nothing here.
    assert visitor.post("/dashboard/keys", data=stale).status_code == 403
    assert [row.user_id for row in UserSession.of(user)] == [user.id]
    assert _post(visitor, ACCOUNTS, ACCOUNTS, user_id="usr_unknown").status_code == 404


def test_the_choice_of_an_account_needs_the_steps_before_it(user: User) -> None:
    there = elsewhere(user)
    visitor = browser_of(None)
    assert visitor.get(ACCOUNT).headers["Location"] == SIGN_IN
    answer = _post(visitor, ACCOUNT, SIGN_IN, user_id=there.id)
    assert (answer.headers["Location"], UserSession.of(user)) == (SIGN_IN, [])
    with_two_factor(user)
    visitor = _by_password(user)
    assert visitor.get(ACCOUNT).headers["Location"] == SIGN_IN
    assert _post(visitor, ACCOUNT, CODE, user_id=there.id).headers["Location"] == SIGN_IN
    assert UserSession.of(user) == []


def test_sessions_in_other_accounts_are_listed_and_ended(user: User, browser: FlaskClient) -> None:
    there = browser_of(elsewhere(user))
    assert "<small>Other</small>" in browser.get(YOU).text
    newest = UserSession.of(user)[0]
    assert _post(browser, f"{YOU}/sessions/{newest.id}/revoke").status_code == 303
    assert there.get(YOU).status_code == 303


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
                " Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0"
            ),
            "Edge on Windows",
        ),
        (
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15"
                " (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
            ),
            "Safari on iPhone",
        ),
        (
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko)"
                " Chrome/140.0.0.0 Mobile Safari/537.36"
            ),
            "Chrome on Android",
        ),
        ("curl/8.0", "Unknown browser"),
        ("<script>" * 1000, "Unknown browser"),
    ],
)
def test_a_browser_is_described_in_a_few_words(agent: str, said: str) -> None:
    assert shortened(agent) == said

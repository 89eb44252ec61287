"""The page of users, for an owner."""

import pytest

from dashboard.guard import SET_UP
from dashboard.users import LAST_OWNER, OWN_FIRST
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation
from models.accounts.password import PasswordReset
from models.accounts.user import Role, User
from models.accounts.user_session import UserSession
from tests.conftest import Configure
from tests.dashboard.world import browser_of, form_token
from tests.mail_server import MailServer
from tests.people import PASSWORD, app_code, member, with_two_factor

PATH = "/dashboard/users"


@pytest.fixture
def owner(account: Account) -> User:
    """The account's only owner."""
    return member(account, Role.OWNER)


def _post(user: User, path: str, **form: str) -> tuple[int, str]:
    browser = browser_of(user)
    answer = browser.post(path, data={"csrf_token": form_token(browser), **form})
    return answer.status_code, answer.text


def test_the_list_shows_role_two_factor_and_invitations(account: Account, owner: User) -> None:
    with_two_factor(member(account, Role.AGENT))
    Invitation.open(account, "guest@example.com", Role.VIEWER)
    member(Account.open("Other", "pro"), Role.OWNER, "stranger")
    page = browser_of(owner).get(PATH).text
    for said in ("agent@example.com", "owner@example.com", "guest@example.com", "never"):
        assert said in page
    assert page.count(">on</span>") == 1
    assert "stranger" not in page


def test_the_last_owner_is_neither_removed_nor_given_another_role(
    account: Account, owner: User
) -> None:
    for path, form in (
        (f"{PATH}/{owner.id}/remove", {}),
        (f"{PATH}/{owner.id}", {"role": "agent"}),
    ):
        status, page = _post(owner, path, **form)
        assert status == 409
        assert LAST_OWNER in page
    assert User.owners(account.id) == [owner]


@pytest.mark.usefixtures("mail")
def test_the_limit_of_the_plan_is_told_in_the_form(
    configure: Configure, account: Account, owner: User
) -> None:
    configure(USER_LIMITS=f"{account.plan}=1")
    status, page = _post(owner, PATH, email="guest@example.com", role="agent")
    assert status == 409
    assert "GATEWAY_USER_LIMITS" in page
    assert 'value="guest@example.com"' in page
    assert Invitation.pending(account.id) == []


def test_a_removed_user_is_signed_out_at_once(account: Account, owner: User) -> None:
    other = member(account, Role.DEVELOPER)
    browser = browser_of(other)
    assert _post(owner, f"{PATH}/{other.id}/remove")[0] == 303
    assert browser.get("/dashboard/").status_code == 303
    assert User.by_id(other.id) is None


def test_an_owner_among_several_may_leave(account: Account, owner: User) -> None:
    member(account, Role.OWNER, "second")
    assert _post(owner, f"{PATH}/{owner.id}/remove")[0] == 303
    assert User.by_id(owner.id) is None


@pytest.mark.parametrize("action", ["", "/reset", "/remove"])
def test_users_of_other_accounts_are_not_there(owner: User, action: str) -> None:
    stranger = member(Account.open("Other", "pro"), Role.OWNER, "stranger")
    path = f"{PATH}/{stranger.id}{action}"
    assert browser_of(owner).get(path).status_code == 404
    assert _post(owner, path, role="viewer")[0] == 404
    assert PasswordReset.select().count() == 0


def test_ones_own_password_is_not_changed_by_a_link(owner: User) -> None:
    assert _post(owner, f"{PATH}/{owner.id}/reset")[0] == 404


def test_an_invitation_is_in_the_mail_and_in_no_response(owner: User, mail: MailServer) -> None:
    status, page = _post(owner, PATH, email="guest@example.com", role="viewer")
    pages = page + browser_of(owner).get(PATH).text
    assert (status, "guest@example.com" in pages) == (303, True)
    assert mail.link.rpartition("/")[2] not in pages
    assert mail.link.startswith("/dashboard/invitation/")


def test_a_password_link_is_in_the_mail_and_in_no_response(
    account: Account, owner: User, mail: MailServer
) -> None:
    user = member(account, Role.AGENT)
    status, page = _post(owner, f"{PATH}/{user.id}/reset")
    assert (status, mail.subjects[0][0]) == (303, user.email)
    assert mail.link.rpartition("/")[2] not in page + browser_of(owner).get(PATH).text
    assert mail.link.startswith("/dashboard/password/")


def test_without_a_mail_server_the_pages_name_the_commands(account: Account, owner: User) -> None:
    user = member(account, Role.AGENT)
    browser = browser_of(owner)
    page = browser.get(PATH).text
    assert f"gateway users create EMAIL --account {account.id}" in page
    assert 'name="email"' not in page
    page = browser.get(f"{PATH}/{user.id}").text
    assert f"gateway users reset-password {user.email}" in page
    assert "/reset" not in page
    for path in (PATH, f"{PATH}/{user.id}/reset"):
        assert _post(owner, path, email="guest@example.com", role="viewer")[0] == 502
    assert Invitation.select().count() + PasswordReset.select().count() == 0


@pytest.mark.parametrize(
    "email", ["nobody", "a,b@example.com", "<b@example.com>", "ada@.example.com"]
)
def test_an_invitation_needs_an_address(owner: User, mail: MailServer, email: str) -> None:
    assert _post(owner, PATH, email=email, role="viewer")[0] == 422
    assert mail.mails == []


def test_too_many_mails_are_refused_on_their_page(
    account: Account, owner: User, mail: MailServer
) -> None:
    user = member(account, Role.AGENT)
    form = {"email": "guest@example.com", "role": "viewer"}
    assert [_post(owner, PATH, **form)[0] for _ in range(4)] == [303] * 3 + [429]
    reset = f"{PATH}/{user.id}/reset"
    assert [_post(owner, reset)[0] for _ in range(4)] == [303] * 3 + [429]
    assert len(mail.mails) == 6


def test_an_existing_user_is_not_invited(account: Account, owner: User) -> None:
    member(account, Role.AGENT)
    status, page = _post(owner, PATH, email="AGENT@example.com", role="viewer")
    assert (status, 'role="alert" id="problem"' in page) == (409, True)
    assert Invitation.select().count() == 0


def test_another_accounts_user_is_invited_like_a_stranger(owner: User, mail: MailServer) -> None:
    """Users of other accounts are not revealed."""
    member(Account.open("Other", "pro"), Role.OWNER, "guest")
    for email in ("guest@example.com", "nobody@example.com"):
        assert _post(owner, PATH, email=email, role="viewer") == (303, "")
    assert len(mail.mails) == 2


def test_two_factor_can_be_required_of_all_users(account: Account, owner: User) -> None:
    path, home = f"{PATH}/two-factor", "/dashboard/"
    status, page = _post(owner, path, required="1")
    assert (status, OWN_FIRST in page) == (409, True)
    with_two_factor(owner)
    assert _post(owner, path, required="1")[0] == 303
    user = member(account, Role.DEVELOPER)
    browser = browser_of(user)
    for view in ("", "inbox", "you", "live"):
        answer = browser.get(home + view)
        assert (answer.status_code, answer.headers["Location"]) == (303, SET_UP)
    form = {"csrf_token": form_token(browser, SET_UP), "present": PASSWORD}
    contact = {"csrf_token": form["csrf_token"], "stop": "stop"}
    assert browser.post("/dashboard/contacts", data=contact).headers["Location"] == SET_UP
    assert Account.get_by_id(account.id).stop_words == []
    shown = browser.get(SET_UP).text
    assert 'href="/dashboard/inbox"' not in shown
    assert 'role="search"' not in shown
    assert browser.post(f"{SET_UP}/secret", data=form).status_code == 303
    assert browser.post(SET_UP, data={**form, "code": app_code(user)}).status_code == 200
    assert browser.get(home).status_code == 200
    assert browser.get(f"{SET_UP}/off").status_code == 200
    off = {**form, "csrf_token": form_token(browser), "code": app_code(user, 1)}
    assert browser.post(f"{SET_UP}/off", data=off).status_code == 409
    assert User.get_by_id(user.id).has_two_factor
    assert _post(owner, path)[0] == 303
    assert browser_of(member(account, Role.VIEWER)).get(home).status_code == 200
    rows = Audit.select().where(Audit.action == "account.two_factor_changed")
    assert [row.after for row in rows] == [{"required": True}, {"required": False}]


def test_a_requirement_ends_streams_of_users_without_two_factor(account: Account) -> None:
    without, having = member(account, Role.AGENT), member(account, Role.OWNER)
    with_two_factor(having)
    for user in (without, having):
        UserSession.begin(user)
    ids = [UserSession.of(user)[0].id for user in (without, having)]
    assert UserSession.void_among(ids) == set()
    account.amend(two_factor_since=1)
    assert UserSession.void_among(ids) == {ids[0]}


def test_a_revoked_invitation_no_longer_works(account: Account, owner: User) -> None:
    row, token = Invitation.open(account, "guest@example.com", Role.VIEWER)
    assert _post(owner, f"{PATH}/invitations/{row.id}/withdraw")[0] == 303
    assert Invitation.find(token) is None
    other, _ = Invitation.open(Account.open("Other", "pro"), "guest@example.com", Role.VIEWER)
    assert _post(owner, f"{PATH}/invitations/{other.id}/withdraw")[0] == 404

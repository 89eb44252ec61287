"""The page of users, for an owner."""

import pytest

from dashboard.users import LAST_OWNER
from models.accounts.account import Account
from models.accounts.invitation import Invitation
from models.accounts.password import PasswordReset
from models.accounts.user import Role, User
from tests.dashboard.world import browser_of, form_token
from tests.people import member, with_two_factor

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


def test_an_existing_user_is_not_invited(account: Account, owner: User) -> None:
    member(account, Role.AGENT)
    status, page = _post(owner, PATH, email="AGENT@example.com", role="viewer")
    assert (status, 'role="alert" id="problem"' in page) == (409, True)
    assert Invitation.select().count() == 0


def test_another_accounts_user_is_invited_like_a_stranger(owner: User) -> None:
    """Users of other accounts are not revealed."""
    member(Account.open("Other", "pro"), Role.OWNER, "guest")
    for email in ("guest@example.com", "nobody@example.com"):
        assert _post(owner, PATH, email=email, role="viewer")[0] == 200


def test_a_revoked_invitation_no_longer_works(account: Account, owner: User) -> None:
    row, token = Invitation.open(account, "guest@example.com", Role.VIEWER)
    assert _post(owner, f"{PATH}/invitations/{row.id}/withdraw")[0] == 303
    assert Invitation.find(token) is None
    other, _ = Invitation.open(Account.open("Other", "pro"), "guest@example.com", Role.VIEWER)
    assert _post(owner, f"{PATH}/invitations/{other.id}/withdraw")[0] == 404

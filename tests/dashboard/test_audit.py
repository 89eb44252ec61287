"""The audit log: one row for each change, without secrets, and no other rows."""

import pytest
from peewee import OperationalError

from dashboard.pages import TEMPLATES
from dashboard.urls import RULES
from models.accounts.account import Account, ApiKey
from models.accounts.audit import Audit
from models.accounts.password import RESET
from models.accounts.user import Role, User
from models.messages.contact import Contact
from models.numbers.number import Number
from services import members
from services.members import ACCEPTED
from tests.conftest import Clock
from tests.dashboard.world import ACTIONS, View, World, browser_of, form_token, furnish
from tests.mail_server import MailServer
from tests.people import PASSWORD, member

# Fields that make an action fail.
REFUSED: dict[str, dict[str, str]] = {
    "change_words": {"stop": "x" * 99},
    "change_note": {"note": "x" * 1001},
    "create_webhook": {"url": "nowhere"},
    "change_webhook": {"url": "nowhere"},
    "create_key": {"name": ""},
    "create_link": {"slug": "-"},
    "invite": {"email": "nobody", "role": "agent"},
    "change_role": {"role": "king"},
    "change_own_password": {"present": "wrong", "password": "x" * 12, "again": "x" * 12},
    "turn_on_two_factor": {"present": PASSWORD, "code": "000000"},
    "turn_off_two_factor": {"present": "wrong", "code": "000000"},
    "require_two_factor": {"required": "1"},
    "switch_account": {"user_id": "usr_unknown"},
}


@pytest.fixture
def world(account: Account, number: Number, mail: MailServer) -> World:
    """An account that has one of everything."""
    assert mail.mails == []
    return furnish(account, number)


@pytest.fixture
def owner(account: Account) -> User:
    """The account's owner."""
    return member(account, Role.OWNER)


def _post(user: User, path: str, **form: str) -> int:
    browser = browser_of(user)
    return browser.post(path, data={"csrf_token": form_token(browser), **form}).status_code


@pytest.mark.parametrize("view", ACTIONS, ids=[view.name for view in ACTIONS])
def test_an_action_writes_one_audit_row_with_user_action_and_address(
    world: World, owner: User, view: View
) -> None:
    assert world.call(owner, view).status_code in {200, 303}
    # A switch to another account has a row in that one too.
    [row] = Audit.all(owner.account_id)
    assert (row.account_id, row.user_id, row.who) == (owner.account_id, owner.id, owner.email)
    assert (row.action, row.address) == (RULES[view.name].change, "127.0.0.1")
    if "_id>" in view.route and "session" not in view.route:
        assert str(row.subject) in world.path(view)
    secrets = [key.digest for key in ApiKey.all()]
    for word in (*secrets, PASSWORD, "mk_live_", "whsec_", "/invitation/", "/password/"):
        assert word not in row.detail_json


@pytest.mark.parametrize("view", ACTIONS, ids=[view.name for view in ACTIONS])
def test_a_refused_action_writes_no_audit_row(world: World, owner: User, view: View) -> None:
    if view.name in REFUSED:
        assert 400 <= _post(owner, world.path(view), **REFUSED[view.name]) < 500
    path = world.path(view).replace("<session_id>", world.session(owner))
    # Without the form's token.
    assert browser_of(owner).post(path).status_code == 403
    assert Audit.select().count() == 0


def test_a_repeated_change_writes_no_second_audit_row(world: World, owner: User) -> None:
    for name in ("revoke_key", "switch_off", "opt_out", "change_role", "revoke_link"):
        [view] = [view for view in ACTIONS if view.name == name]
        path = world.path(view)
        form = {"role": "agent"} if name == "change_role" else {}
        assert [_post(owner, path, **form) for _ in range(2)] == [303, 303]
    assert Audit.select().count() == 5


def test_a_change_is_rolled_back_if_its_audit_row_cannot_be_written(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_by: object) -> None:
        raise OperationalError("no room")

    monkeypatch.setattr(Audit, "_write", fail)
    assert _post(owner, "/dashboard/keys", name="key") == 503
    assert ApiKey.all() == []


@pytest.mark.parametrize("name", ["", "key"])
def test_a_form_is_answered_while_the_database_is_away(
    owner: User, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also if the form is refused, and its page cannot be shown again."""

    def fail(*_: object, **_by: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(ApiKey, "page", fail)
    monkeypatch.setattr(ApiKey, "issue", fail)
    browser = browser_of(owner)
    answer = browser.post("/dashboard/keys", data={"csrf_token": form_token(browser), "name": name})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_every_action_has_words() -> None:
    changes = {rule.change for rule in RULES.values() if rule.change}
    words = TEMPLATES.get_template("dashboard/actions.html").module.ACTIONS  # type: ignore[attr-defined]
    assert changes | {ACCEPTED, RESET} <= set(words)


def test_the_page_filters_by_user_action_and_time(owner: User, clock: Clock) -> None:
    other = member(Account.get_by_id(owner.account_id), Role.DEVELOPER)
    stranger = member(Account.open("Other", "pro"), Role.OWNER, "stranger")
    Audit.note(owner, "key.created", "192.0.2.1", "key_1", name="<b>")
    clock.advance(hours=1)
    Audit.note(other, "key.created", "192.0.2.2", "key_2")
    Audit.note(other, "key.revoked", "192.0.2.2", "key_2")
    Audit.note(stranger, "key.created", "192.0.2.3", "key_3")

    def shown(query: str) -> list[str]:
        page = browser_of(owner).get(f"/dashboard/audit{query}").text
        assert "stranger" not in page
        assert "<b>" not in page
        return [name for name in ("key_1", "key_2") for _ in range(page.count(f">{name}<"))]

    assert shown("") == ["key_1", "key_2", "key_2"]
    assert shown(f"?who={other.email}") == ["key_2", "key_2"]
    assert shown("?action=key.created") == ["key_1", "key_2"]
    assert shown(f"?who={other.email}&action=key.revoked") == ["key_2"]
    assert shown("?since=2026-11-20T10:00") == ["key_2", "key_2"]
    assert shown("?until=2026-11-20T10:00") == ["key_1"]
    assert shown("?page=9") == []
    assert browser_of(owner).get("/dashboard/audit?since=soon").status_code == 422


def test_a_row_stays_true_when_its_user_is_removed(owner: User) -> None:
    other = member(Account.get_by_id(owner.account_id), Role.DEVELOPER)
    Audit.note(other, "key.created", "192.0.2.1", "key_1")
    members.dismiss(other)
    page = browser_of(owner).get("/dashboard/audit").text
    assert other.email in page


def test_details_are_shown_in_words(owner: User) -> None:
    Audit.note(
        owner, "webhook.changed", "192.0.2.1", role="agent", count=2, fields=["url", "events"]
    )
    page = browser_of(owner).get("/dashboard/audit").text
    assert "<small>role: agent; count: 2; fields: url, events</small>" in page


def test_sign_ins_are_on_record_and_failures_of_known_users_are_bounded(
    owner: User, clock: Clock
) -> None:
    assert clock.at
    for count in range(30):
        _sign_in(owner.email, "wrong", f"198.51.100.{count}")
        _sign_in("nobody@example.com", "wrong", f"203.0.113.{count}")
    rows = [(row.action, row.who) for row in Audit.select()]
    assert rows == [("session.refused", owner.email)] * 20
    assert _sign_in(owner.email, PASSWORD, "192.0.2.1") == 303
    [row] = Audit.select().where(Audit.action == "session.begun")
    assert (row.user_id, row.address) == (owner.id, "192.0.2.1")


def _sign_in(email: str, password: str, address: str) -> int:
    browser = browser_of(None)
    form = {"email": email, "password": password}
    form["csrf_token"] = form_token(browser, "/dashboard/sign-in")
    answer = browser.post("/dashboard/sign-in", data=form, environ_base={"REMOTE_ADDR": address})
    return answer.status_code


def test_contacts_have_no_text_in_the_log(world: World, owner: User) -> None:
    [view] = [view for view in ACTIONS if view.name == "change_note"]
    world.call(owner, view)
    [row] = Audit.select()
    assert Contact.get_by_id(row.subject).note == "a friend"
    assert row.detail == {}

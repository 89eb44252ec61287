"""The audit log: one row for each change, without secrets, and no other rows."""

import csv
import json
from functools import partial

import pytest
from peewee import OperationalError

from dashboard import audit
from dashboard.pages import TEMPLATES
from dashboard.urls import RULES
from models.accounts.account import Account, ApiKey
from models.accounts.actor import Actor, ActorKind
from models.accounts.audit import Audit
from models.accounts.password import RESET
from models.accounts.user import Role, User
from models.errors import RateLimitedError
from models.messages.contact import Contact
from models.numbers.number import Number
from services import members
from services.members import ACCEPTED
from services.number_status import EVENT_OF
from tests.conftest import Clock
from tests.dashboard.world import ACTIONS, View, World, browser_of, form_token, furnish
from tests.mail_server import MailServer
from tests.people import PASSWORD, member
from tests.structure.test_audited_commands import ACTIONS as OF_COMMANDS
from tests.structure.test_audited_operations import ACTIONS as OF_OPERATIONS

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


def _rows_of(user: User) -> list[Audit]:
    return [row for row in Audit.all(user.account_id) if row.actor_id == user.id]


def _post(user: User, path: str, **form: str) -> int:
    browser = browser_of(user)
    return browser.post(path, data={"csrf_token": form_token(browser), **form}).status_code


@pytest.mark.parametrize("view", ACTIONS, ids=[view.name for view in ACTIONS])
def test_an_action_writes_one_audit_row_with_user_action_and_address(
    world: World, owner: User, view: View
) -> None:
    assert world.call(owner, view).status_code in {200, 303}
    [row] = _rows_of(owner)
    assert (row.account_id, row.actor) == (owner.account_id, owner.actor("127.0.0.1"))
    assert row.action == RULES[view.name].change
    # The path of a new broadcast names its list of recipients.
    is_new = view.name == "create_broadcast"
    if "_id>" in view.route and "session" not in view.route and not is_new:
        assert str(row.subject) in world.path(view)
    secrets = [key.digest for key in ApiKey.all()]
    for word in (*secrets, PASSWORD, "mk_live_", "whsec_", "/invitation/", "/password/"):
        assert word not in f"{row.before_json} {row.after_json}"


@pytest.mark.parametrize("view", ACTIONS, ids=[view.name for view in ACTIONS])
def test_a_refused_action_writes_no_audit_row(world: World, owner: User, view: View) -> None:
    if view.name in REFUSED:
        assert 400 <= _post(owner, world.path(view), **REFUSED[view.name]) < 500
    path = world.path(view).replace("<session_id>", world.session(owner))
    # Without the form's token.
    assert browser_of(owner).post(path).status_code == 403
    assert _rows_of(owner) == []


def test_a_repeated_change_writes_no_second_audit_row(world: World, owner: User) -> None:
    for name in ("revoke_key", "switch_off", "opt_out", "change_role", "revoke_link"):
        [view] = [view for view in ACTIONS if view.name == name]
        path = world.path(view)
        form = {"role": "agent"} if name == "change_role" else {}
        assert [_post(owner, path, **form) for _ in range(2)] == [303, 303]
    assert len(_rows_of(owner)) == 5


def test_a_change_is_rolled_back_if_its_audit_row_cannot_be_written(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_by: object) -> None:
        raise OperationalError("no room")

    monkeypatch.setattr(Audit, "create", fail)
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
    others = {ACCEPTED, RESET, *EVENT_OF.values(), *OF_OPERATIONS.values()}
    assert changes | others | {each for rows in OF_COMMANDS.values() for each in rows} <= set(words)


@pytest.fixture
def others(owner: User, clock: Clock) -> User:
    """Three changes, two of them by this other user, and one in another account."""
    other = member(Account.get_by_id(owner.account_id), Role.DEVELOPER)
    stranger = member(Account.open("Other", "pro"), Role.OWNER, "stranger")
    after = {"name": "<b>", "events": ["message.sent", "message.read"]}
    by = owner.actor("192.0.2.1")
    Audit.record(owner.account_id, "key.created", "key_1", after=after, by=by)
    clock.advance(hours=1)
    record = partial(Audit.record, owner.account_id, by=other.actor("192.0.2.2"))
    record("key.created", "key_2", before={"plan": "starter"}, after={"plan": "pro"})
    record("key.revoked", "key_2", before={"name": "=1+1"})
    Audit.record(stranger.account_id, "key.created", "key_3", by=stranger.actor("192.0.2.3"))
    return other


def test_the_page_filters_by_actor_action_subject_and_time(owner: User, others: User) -> None:
    def shown(query: str) -> list[str]:
        page = browser_of(owner).get(f"/dashboard/audit{query}").text
        assert "stranger" not in page
        assert "<b>" not in page
        return [name for name in ("key_1", "key_2") for _ in range(page.count(f">{name}<"))]

    assert shown("") == ["key_1", "key_2", "key_2"]
    assert shown(f"?actor={others.email}") == ["key_2", "key_2"]
    assert shown("?action=key.created") == ["key_1", "key_2"]
    assert shown("?subject=key_1") == ["key_1"]
    assert shown(f"?actor={others.email}&action=key.revoked") == ["key_2"]
    assert shown("?since=2026-11-20T10:00") == ["key_2", "key_2"]
    assert shown("?until=2026-11-20T10:00") == ["key_1"]
    assert shown("?page=9") == []
    for path in ("/dashboard/audit", "/dashboard/audit.csv"):
        assert browser_of(owner).get(f"{path}?since=soon").status_code == 422


def _file(user: User, query: str = "") -> list[dict[str, str]]:
    # Read to its end, which gives the place back.
    answer = browser_of(user).get(f"/dashboard/audit.csv{query}", buffered=True)
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    return [*csv.DictReader(answer.text.splitlines())]


def test_the_file_has_the_rows_of_the_filter_and_no_formula(
    owner: User, others: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So the rows are read in parts.
    monkeypatch.setattr(audit, "PART", 1)
    revoked, created = _file(owner, f"?actor={others.email}")
    assert (revoked["action"], revoked["subject"]) == ("key.revoked", "key_2")
    assert json.loads(revoked["before"]) == {"name": "=1+1"}
    assert json.loads(created["after"]) == {"plan": "pro"}
    assert (created["actor"], created["name"]) == ("user", others.email)
    Audit.record(owner.account_id, "key.created", "k", by=Actor(ActorKind.KEY, "key_4", "=1+1"))
    [named] = _file(owner, "?actor=key_4")
    assert named["name"] == "'=1+1"


def test_a_download_takes_a_place_until_it_ends(owner: User, others: User) -> None:
    assert others.id
    unread = browser_of(owner).get("/dashboard/audit.csv")
    with pytest.raises(RateLimitedError), audit.EXPORTS.of(owner.account_id):
        pass
    unread.close()
    assert len(_file(owner)) == len(_file(owner)) == 3


def test_a_row_stays_true_when_its_user_is_removed(owner: User, others: User) -> None:
    members.dismiss(others)
    assert others.email in browser_of(owner).get("/dashboard/audit").text


def test_changes_are_shown_with_the_values_before_and_after(owner: User, others: User) -> None:
    assert others.id
    page = browser_of(owner).get("/dashboard/audit").text
    assert "<del>starter</del>" in page
    assert "<ins>pro</ins>" in page
    assert "message.sent, message.read" in page


def test_sign_ins_are_on_record_and_failures_of_known_users_are_bounded(
    owner: User, clock: Clock
) -> None:
    assert clock.at
    for count in range(30):
        _sign_in(owner.email, "wrong", f"198.51.100.{count}")
        _sign_in("nobody@example.com", "wrong", f"203.0.113.{count}")
    rows = [(row.action, row.name) for row in Audit.select()]
    assert rows == [("session.refused", owner.email)] * 20
    assert _sign_in(owner.email, PASSWORD, "192.0.2.1") == 303
    [row] = Audit.select().where(Audit.action == "session.begun")
    assert row.actor == owner.actor("192.0.2.1")


def _sign_in(email: str, password: str, address: str) -> int:
    browser = browser_of(None)
    form = {"email": email, "password": password}
    form["csrf_token"] = form_token(browser, "/dashboard/sign-in")
    answer = browser.post("/dashboard/sign-in", data=form, environ_base={"REMOTE_ADDR": address})
    return answer.status_code


def test_contacts_have_no_text_in_the_log(world: World, owner: User) -> None:
    [view] = [view for view in ACTIONS if view.name == "change_note"]
    world.call(owner, view)
    [row] = _rows_of(owner)
    assert Contact.get_by_id(row.subject).note == "a friend"
    assert (row.before, row.after) == ({}, {})

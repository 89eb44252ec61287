"""Roles: every page and action with every role, by the roles that its view states."""

import re
from dataclasses import replace

import pytest

from dashboard.guard import AGENTS, ALL, DEVELOPERS, NOBODY, OWNERS, RULES, Rule, may, rule_of
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.user import Role
from models.numbers.number import Number
from tests.dashboard.world import ACTIONS, PRIVATE, VIEWS, View, World, browser_of, furnish
from tests.mail_server import MailServer
from tests.people import member

LINK = re.compile(r'<(?:a|form)\b[^>]*? (?:href|action)="(/dashboard/[^"?#]*)[^>]*>')


@pytest.fixture
def world(account: Account, number: Number, mail: MailServer) -> World:
    """An account that has one of everything."""
    assert mail.mails == []
    return furnish(account, number)


def test_every_view_states_its_roles() -> None:
    assert {view.name for view in VIEWS} == set(RULES)
    assert len(ACTIONS) >= 15


def test_a_view_that_states_no_roles_is_refused_to_all() -> None:
    assert rule_of("dashboard.new_view") == NOBODY == Rule(frozenset())


def test_a_page_or_a_menu_that_names_an_unknown_view_fails() -> None:
    with pytest.raises(KeyError):
        may("new_view")


def test_each_role_may_do_all_that_the_next_may() -> None:
    """So a role needs no second one."""
    assert OWNERS < DEVELOPERS < AGENTS < ALL == frozenset(Role)
    assert {RULES[view.name].roles for view in PRIVATE} <= {OWNERS, DEVELOPERS, AGENTS, ALL}


def test_every_action_has_a_name_in_the_audit_log_and_no_page_has() -> None:
    actions = {view.name for view in ACTIONS}
    for view in PRIVATE:
        assert (RULES[view.name].change is not None) == (view.name in actions), view.name


def test_an_action_that_asks_changes_nothing_before_it_is_confirmed(
    account: Account, world: World
) -> None:
    owner = member(account, Role.OWNER)
    asking = [view for view in ACTIONS if replace(view, method="GET") in PRIVATE]
    assert len(asking) >= 9
    for view in asking:
        world.prepare(owner, view.name)
        browser = browser_of(owner)
        assert re.search(">(Cancel|Back)</a>", browser.get(world.path(view)).text)
        assert browser.head(world.path(view)).status_code == 200
        theirs = Audit.select().where(Audit.actor_id == owner.id)
        assert theirs.count() == 0
        # It has an effect: repeated changes write no row.
        assert world.call(owner, view).status_code in {200, 303}
        assert theirs.count() == 1
        Audit.delete().execute()


def test_a_viewer_does_nothing_and_an_agent_only_contacts() -> None:
    own = {
        RULES[view.name].change
        for view in ACTIONS
        if view.route.startswith("/dashboard/you") or view.name in {"sign_out", "switch_account"}
    }
    done = {
        role: {RULES[view.name].change for view in ACTIONS if role in RULES[view.name].roles} - own
        for role in Role
    }
    assert done[Role.VIEWER] == set()
    contacts = {"contact.note_changed", "contact.opted_out", "contact.opted_in", "contact.replied"}
    suppressions = {"suppression.added", "suppression.removed", "suppressions.imported"}
    assert done[Role.AGENT] == contacts | suppressions


@pytest.mark.parametrize(
    ("view", "role"),
    [(view, role) for view in PRIVATE for role in Role if role in RULES[view.name].roles],
    ids=lambda each: each.name if isinstance(each, View) else str(each),
)
def test_a_view_allows_its_roles(account: Account, world: World, view: View, role: Role) -> None:
    if role != Role.OWNER:
        member(account, Role.OWNER)
    answer = world.call(member(account, role), view)
    assert answer.status_code in {200, 303}


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.OWNER}))
def test_a_view_refuses_other_roles_and_changes_nothing(
    account: Account, world: World, role: Role
) -> None:
    member(account, Role.OWNER)
    user = member(account, role)
    refused = [view for view in PRIVATE if role not in RULES[view.name].roles]
    assert refused
    for view in refused:
        answer = world.call(user, view)
        assert answer.status_code == 403, view.name
        assert 'data-kind="forbidden"' in answer.text
        assert f"yours is {role}" in answer.text
        assert ("Nothing was changed." in answer.text) is (view.method == "POST")
        assert "owner@example.com" in answer.text
    assert Audit.select().where(Audit.actor_id == user.id).count() == 0


def test_a_visitor_is_redirected_to_sign_in(world: World) -> None:
    browser = browser_of(None)
    for view in PRIVATE:
        path = world.path(view)
        answer = browser.get(path) if view.method == "GET" else browser.post(path)
        assert answer.status_code == 303, view.name
        assert answer.headers["Location"].startswith("/dashboard/sign-in")


@pytest.mark.parametrize("role", list(Role))
def test_no_page_offers_an_action_that_its_reader_may_not_do(
    account: Account, world: World, role: Role
) -> None:
    browser = browser_of(member(account, role))
    matcher = browser.application.url_map.bind("")
    refused = []
    for view in PRIVATE:
        if view.method == "GET" and role in RULES[view.name].roles:
            for found in LINK.finditer(browser.get(world.path(view)).text):
                method = "POST" if 'method="post"' in found[0] else "GET"
                endpoint, _ = matcher.match(found[1], method)
                rule = RULES[endpoint.removeprefix("dashboard.")]
                if not rule.is_public and role not in rule.roles:
                    refused.append((view.name, found[1]))
    assert refused == []


def test_another_role_holds_from_the_next_request(account: Account, world: World) -> None:
    view = next(view for view in PRIVATE if view.name == "links")
    user = member(account, Role.DEVELOPER)
    browser = browser_of(user)
    assert browser.get(world.path(view)).status_code == 200
    user.become(Role.VIEWER)
    assert browser.get(world.path(view)).status_code == 403

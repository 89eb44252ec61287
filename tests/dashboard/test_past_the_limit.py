"""A form of an account that has made all its requests of the minute: refused, with what was typed."""

from collections.abc import Iterator

import pytest

from dashboard import guard
from dashboard.guard import RULES
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.user import Role, User
from models.errors import RateLimitedError
from models.numbers.number import Number
from tests.dashboard.world import ACTIONS, FORMS, View, World, application, furnish
from tests.mail_server import MailServer
from tests.people import member

REASON = "All requests of this minute are used up."
# What a person types. The other fields are choices or secrets.
TYPED = {"note", "name", "slug", "url", "email", "emails", "text", "link", "stop", "start"}

# The address of a chat is a secret, so no page shows it. The other is a button.
NOT_SHOWN = {"save_notifications", "ask_again"}
WITH_TEXT = [
    view for view in ACTIONS if TYPED & set(FORMS.get(view.name, {})) and view.name not in NOT_SHOWN
]


@pytest.fixture
def owner(account: Account) -> User:
    return member(account, Role.OWNER)


@pytest.fixture
def world(account: Account, number: Number, mail: MailServer) -> Iterator[World]:
    """An account that has one of everything, and has made its requests."""
    assert mail.mails == []
    world, extensions = furnish(account, number), application().extensions
    extensions[guard.REFUSAL] = lambda environ: (
        RateLimitedError(REASON, retry_after=7) if environ["REQUEST_METHOD"] == "POST" else None
    )
    yield world
    extensions[guard.REFUSAL] = lambda _environ: None


def test_no_action_is_done_and_each_says_when_to_continue(world: World) -> None:
    for view in ACTIONS:
        owner = member(world.account, Role.OWNER, view.name)
        done = Audit.select().where(Audit.action == RULES[view.name].change)
        before = done.count()
        answer = world.call(owner, view)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7"), view.name
        assert answer.text.count(REASON) == 1, view.name
        assert done.count() == before, view.name


@pytest.mark.parametrize("view", WITH_TEXT)
def test_what_was_typed_stays_in_the_form(world: World, owner: User, view: View) -> None:
    page = world.call(owner, view).text
    assert 'data-kind="later"' not in page
    for name, value in FORMS[view.name].items():
        assert name not in TYPED or value in page


def test_the_form_of_a_view_exists() -> None:
    assert {rule.form for rule in RULES.values() if rule.form} <= RULES.keys()

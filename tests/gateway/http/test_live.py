"""The stream of the page Live contains only data that the role may see on other pages."""

import pytest

from dashboard.guard import ALL, OWNERS, RULES, Rule
from gateway.http.endpoints import _begin, sources_of
from models.accounts.account import Account
from models.accounts.user import Role
from models.deliveries.feed import START, Wanted, newest
from services.live_updates import LOST, Source
from tests import factories


def test_a_role_gets_what_the_pages_would_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {tuple(sources_of(role)) for role in ALL} == {tuple(Source)}
    monkeypatch.setitem(RULES, "deliveries", Rule(OWNERS))
    assert sources_of(Role.VIEWER) == [Source.NOTICES]


def test_a_page_whose_place_is_lost_is_told_and_gets_new_events(account: Account) -> None:
    factories.event(account)
    place, wanted = newest(account.id), Wanted(account.id)
    assert _begin(wanted, None) == (place, [])
    assert _begin(wanted, START) == (START, [])
    assert _begin(wanted, place._replace(history="0123456789ab")) == (place, [LOST])

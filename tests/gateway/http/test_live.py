"""The stream of the page Live contains only data that the role may see on other pages."""

import pytest

from dashboard.permissions import ALL, OWNERS, RULES, Rule
from gateway.http.live import sources_of
from handlers.live_blocks import Source
from models.user import Role


def test_a_role_gets_what_the_pages_would_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {tuple(sources_of(role)) for role in ALL} == {tuple(Source)}
    monkeypatch.setitem(RULES, "deliveries", Rule(OWNERS))
    assert sources_of(Role.VIEWER) == [Source.NOTICES]
